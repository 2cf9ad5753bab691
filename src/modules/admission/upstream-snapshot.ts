import type { Pool } from './core/pool.js';
import type { TestName } from './core/pool-types.js';

/** What one upstream's slots and queue look like at a moment. */
export interface UpstreamSnapshot {
  readonly upstream: string;
  /** Places taken; a request may take several. */
  readonly inUse: number;
  readonly requests: number;
  readonly limit: number;
  /** Its engines prefill and hold KV. */
  readonly generates: boolean;
  readonly waiting: readonly { readonly band: string; readonly depth: number }[];
  /** Of the endpoint that is least full: the larger of places to slots and KV memory to what may be used of it. */
  readonly saturation: number;
  readonly held: ReadonlyMap<TestName, number>;
  readonly endpoints: readonly EndpointSnapshot[];
  /** Service that tenants have had, in token equivalents; those beyond the first hundred as `other`. */
  readonly tenants: readonly { readonly band: string; readonly tenant: string; readonly tokens: number }[];
}

export interface EndpointSnapshot {
  readonly endpoint: string;
  /** Places that requests take, of this gateway and of all, as far as the others tell. */
  readonly places: number;
  readonly placesOfAll: number;
  /** The larger of places to slots and KV memory to what may be used of it. */
  readonly saturation: number;
  /** It refused a connection a moment ago, and is left alone. */
  readonly down: boolean;
  readonly prefillBacklogMs: number;
  readonly kvReservedTokens: number;
  readonly slots: number;
  /** Learned, for prompts of 8000 tokens. */
  readonly prefillTokensPerSecond: number;
}

export function poolSnapshot(pool: Pool, now: number): UpstreamSnapshot {
  const { policy } = pool;
  const ledgers = [...pool.endpoints.values()];
  const fullness = ledgers.map((ledger) => {
    const capacity = (ledger.reading?.kvCapacityTokens ?? Infinity) * (policy.gauges?.kvCeiling ?? 1);
    return Math.max(ledger.occupied() / ledger.slots, (ledger.kvReserved + ledger.foreignKvTokens(now)) / capacity);
  });
  return {
    upstream: policy.name,
    inUse: pool.inUse,
    requests: ledgers.reduce((sum, { ownRequests }) => sum + ownRequests, 0),
    limit: policy.limit,
    generates: policy.generates,
    waiting: policy.bands.map(({ name }, band) => ({ band: name, depth: pool.depth(band) })),
    saturation: fullness.length === 0 ? 0 : Math.min(...fullness),
    held: pool.held,
    tenants: policy.bands.flatMap(({ name }, band) =>
      (pool.received[band]?.entries() ?? []).map(([tenant, tokens]) => ({ band: name, tenant, tokens })),
    ),
    endpoints: ledgers.map((ledger, at) => ({
      endpoint: ledger.id,
      places: ledger.ownPlaces,
      placesOfAll: ledger.places,
      saturation: fullness[at] ?? 0,
      down: now < ledger.downUntil,
      prefillBacklogMs: ledger.backlogMs(now),
      kvReservedTokens: ledger.kvReserved,
      slots: ledger.slots,
      prefillTokensPerSecond: ledger.rate.at(8000),
    })),
  };
}
