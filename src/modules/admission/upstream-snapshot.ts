import type { EndpointLedger } from './core/endpoint-ledger.js';
import type { Pool } from './core/pool.js';
import type { PoolPolicy, TestName } from './core/pool-types.js';

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
  /** See `poolSaturation`. */
  readonly saturation: number;
  readonly held: ReadonlyMap<TestName, number>;
  readonly endpoints: readonly EndpointSnapshot[];
  /** Service that tenants have had, in tokens; those beyond the first hundred as `other`. */
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

/** Of the endpoint that is least full; one that is down has no room to offer, unless all are. 0: there is none. */
export function poolSaturation(endpoints: readonly Pick<EndpointSnapshot, 'down' | 'saturation'>[]): number {
  const up = endpoints.filter(({ down }) => !down);
  const offered = up.length > 0 ? up : endpoints;
  return offered.length === 0 ? 0 : Math.min(...offered.map(({ saturation }) => saturation));
}

export function poolSnapshot(pool: Pool, now: number): UpstreamSnapshot {
  const { policy } = pool;
  const ledgers = [...pool.endpoints.values()];
  const endpoints = ledgers.map((ledger) => endpointSnapshot(ledger, policy, now));
  return {
    upstream: policy.name,
    inUse: pool.inUse,
    requests: pool.running,
    limit: policy.limit,
    generates: policy.generates,
    waiting: policy.bands.map(({ name }, band) => ({ band: name, depth: pool.depth(band) })),
    saturation: poolSaturation(endpoints),
    held: pool.held,
    tenants: policy.bands.flatMap(({ name }, band) =>
      (pool.received[band]?.entries() ?? []).map(([tenant, tokens]) => ({ band: name, tenant, tokens })),
    ),
    endpoints,
  };
}

function endpointSnapshot(ledger: EndpointLedger, { gauges }: PoolPolicy, now: number): EndpointSnapshot {
  const capacity = (ledger.kvCapacityTokens ?? Infinity) * (gauges?.kvCeiling ?? 1);
  return {
    endpoint: ledger.id,
    places: ledger.ownPlaces,
    placesOfAll: ledger.places,
    saturation: Math.max(
      ledger.occupied() / ledger.slots,
      (ledger.kvReserved + ledger.foreignKvTokens(now)) / capacity,
    ),
    down: now < ledger.downUntil,
    prefillBacklogMs: ledger.backlogMs(now),
    kvReservedTokens: ledger.kvReserved,
    slots: ledger.slots,
    prefillTokensPerSecond: ledger.rate.at(8000),
  };
}
