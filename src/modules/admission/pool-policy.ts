import type { PoolPolicy } from './core/pool-types.js';

/** The part of the admission section that every pool reads. */
export interface AdmissionPolicy {
  readonly retryAfterMs: number;
  readonly strictReserve: boolean;
  readonly defaultBand: string;
  /** Highest first. */
  readonly bands: readonly {
    readonly name: string;
    readonly ceiling: number;
    readonly capacity: number;
    readonly ttlMs: number;
  }[];
}

/** The part of an upstream's section that its pool reads. */
export interface UpstreamPolicy {
  readonly name: string;
  readonly engine: string;
  readonly slots: { readonly limit: number; readonly perEndpoint: number };
  readonly observe?:
    | {
        readonly kvCeiling: number;
        readonly maxInflight: number;
        readonly maxParkMs: number;
        readonly intervalMs?: number;
      }
    | undefined;
}

/** Engines whose prefill and KV memory are worth a ledger; of all others only the places are counted. */
const GENERATING = new Set(['vllm', 'sglang', 'llamacpp']);

export function poolPolicyOf(policy: AdmissionPolicy, upstream: UpstreamPolicy): PoolPolicy {
  const { observe, slots } = upstream;
  return {
    name: upstream.name,
    bands: policy.bands,
    defaultBand: Math.max(
      0,
      policy.bands.findIndex(({ name }) => name === policy.defaultBand),
    ),
    limit: slots.limit,
    slotsPerEndpoint: slots.perEndpoint,
    retryAfterMs: policy.retryAfterMs,
    strictReserve: policy.strictReserve,
    generates: GENERATING.has(upstream.engine),
    gauges: observe && { kvCeiling: observe.kvCeiling, maxInflight: observe.maxInflight, maxParkMs: observe.maxParkMs },
  };
}
