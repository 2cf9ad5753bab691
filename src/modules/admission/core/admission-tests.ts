import type { EndpointLedger } from './endpoint-ledger.js';
import type { Share } from './share-rule.js';
import type { PoolPolicy, TestName, WorkClass } from './pool-types.js';

/** What the tests see of one request. */
export interface Candidate {
  readonly band: number;
  readonly kind: WorkClass;
  readonly places: number;
  readonly kvTokens: number;
  readonly estimateMs: number;
  readonly waitedMs: number;
  /** An endpoint is kept clear for it. */
  readonly reserves: boolean;
}

/** What the tests see of the pool around the endpoint. */
export interface PoolView {
  readonly policy: PoolPolicy;
  readonly now: number;
  readonly endpoints: readonly EndpointLedger[];
  /** Where long prefills go: the first endpoint that serves or, where none does, the first. */
  readonly lane: EndpointLedger | undefined;
  /** The highest band was seen within the last five minutes. */
  readonly topBandAround: boolean;
  /** A long prompt waits. */
  readonly longWaits: boolean;
  /** An endpoint that is kept clear for one request. */
  readonly reserved: { readonly endpoint: string; readonly band: number } | undefined;
  /** What this gateway has to keep to, while others do not tell what they have. */
  readonly share: Share | undefined;
  /** Bands that have starved may use an engine's whole batch once. */
  readonly starved: (band: number) => boolean;
}

export interface AdmissionTest {
  readonly name: TestName;
  /** It looks at the engine's gauges alone: a wait for it ends after `maxPark`. */
  readonly gauge?: boolean;
  /** It applies only to engines that prefill and hold KV. */
  readonly generating?: boolean;
  readonly passes: (candidate: Candidate, endpoint: EndpointLedger, pool: PoolView) => boolean;
}

/** Seconds of prefill that a band may find ahead of it: the highest any, then more with each step down. */
const BACKLOG_MS = { default: 20_000, below: 30_000, rest: 45_000 } as const;
const HEAVY_BEHIND_MS = 1000;
const HEAVY_YIELDS_MS = 20_000;
const LONG_PATIENCE_MS = 60_000;
const SMALL_LONG_MS = 45_000;
const HEAVY_REST = 0.5;
const QUIET_BELOW_MS = 200;
const KEPT_OUT_MS = 5000;

function backlogLimitMs(band: number, { defaultBand }: PoolPolicy): number {
  if (band < defaultBand || band === 0) return Infinity;
  if (band === defaultBand) return BACKLOG_MS.default;
  return band === defaultBand + 1 ? BACKLOG_MS.below : BACKLOG_MS.rest;
}

const ceilingOf = (band: number, { bands }: PoolPolicy): number => bands[band]?.ceiling ?? 0;

/** Sequences that a band may see on one endpoint. A band that has starved sees the whole batch. */
export function cap(band: number, endpoint: EndpointLedger, pool: PoolView): number {
  const ceiling = pool.starved(band) ? Math.max(1, ceilingOf(band, pool.policy)) : ceilingOf(band, pool.policy);
  return Math.floor(ceiling * endpoint.slots + 1e-9);
}

const isLowBand = (band: number, { defaultBand }: PoolPolicy): boolean => band > defaultBand;

export function kvLimit(band: number, endpoint: EndpointLedger, { policy }: PoolView): number {
  const capacity = endpoint.kvCapacityTokens;
  if (capacity === undefined) return Infinity;
  return Math.min(1, ceilingOf(band, policy)) * (policy.gauges?.kvCeiling ?? 1) * capacity;
}

/** Turns to start heavy prompts last for as long as one of them, those to disturb the highest band as short as can be. */
const HEAVY_TURN_READINGS = 4;
const QUIET_TURN_READINGS = 1;

/**
 * A request that needs much at once never finds it within a share of what is free. Where its gateway has nothing else on
 * the endpoint that it keeps clear, and cannot keep it clear of the others, it goes there on top of what they have.
 */
const goesOnTop = ({ reserves }: Candidate, endpoint: EndpointLedger, share: Share): boolean =>
  reserves && !share.told && endpoint.ownPlaces === 0;

function keepsToShare(r: Candidate, e: EndpointLedger, pool: PoolView): boolean {
  const { share } = pool;
  if (share === undefined || goesOnTop(r, e, share)) return true;
  const ordinal = pool.endpoints.indexOf(e);
  if (e.ownPlaces + r.places > share.mostPlaces(e, { cap: cap(r.band, e, pool), band: r.band, ordinal })) return false;
  if (!pool.policy.generates) return true;
  if (r.kind === 'heavy' && !share.hasTurn(e, ordinal, HEAVY_TURN_READINGS)) return false;
  return !disturbsTopBand(r, pool) || share.hasTurn(e, ordinal, QUIET_TURN_READINGS);
}

const disturbsTopBand = ({ band, estimateMs }: Candidate, { policy, topBandAround }: PoolView): boolean =>
  isLowBand(band, policy) && estimateMs > QUIET_BELOW_MS && topBandAround;

const longInPrefill = (endpoint: EndpointLedger): boolean => {
  if (endpoint.kinds.long === 0) return false;
  for (const lease of endpoint.leases) if (lease.kind === 'long' && lease.firstTokenAt === undefined) return true;
  return false;
};

function fitsLong(candidate: Candidate, endpoint: EndpointLedger, pool: PoolView): boolean {
  if (candidate.kind !== 'long') return true;
  if (longInPrefill(endpoint)) return false;
  // One of the smaller ones may use an engine that idles beside the lane, once it has waited.
  if (pool.lane !== endpoint) {
    return candidate.estimateMs <= SMALL_LONG_MS && candidate.waitedMs >= LONG_PATIENCE_MS && endpoint.occupied() === 0;
  }
  return candidate.waitedMs >= LONG_PATIENCE_MS || endpoint.leases.size === endpoint.kinds.long;
}

function fitsHeavyShape(candidate: Candidate, endpoint: EndpointLedger, pool: PoolView): boolean {
  if (candidate.kind !== 'heavy') return true;
  if (endpoint.kinds.heavy >= Math.max(1, Math.floor(endpoint.slots / 4))) return false;
  const decoding = endpoint.leases.size - endpoint.prefills;
  return decoding < 2 || pool.now >= endpoint.heavyEndedAt + HEAVY_REST * endpoint.heavyTookMs;
}

function isQuiet(candidate: Candidate, endpoint: EndpointLedger, pool: PoolView): boolean {
  if (!disturbsTopBand(candidate, pool)) return true;
  if (endpoint.prefills > 0) return false;
  for (const lease of endpoint.leases) if (lease.band === 0) return false;
  return (
    pool.endpoints.length === 1 ||
    pool.endpoints.some((other) => other !== endpoint && !hasLowPrefill(other, pool.policy))
  );
}

function hasLowPrefill(endpoint: EndpointLedger, policy: PoolPolicy): boolean {
  for (const lease of endpoint.leases)
    if (lease.firstTokenAt === undefined && isLowBand(lease.band, policy)) return true;
  return false;
}

/** A gateway whose others hold everything, and use again what they give back, would never come to its share. */
const isKeptOut = ({ kind, waitedMs }: Candidate, { endpoints }: PoolView): boolean =>
  kind === 'light' && waitedMs >= KEPT_OUT_MS && endpoints.every(({ ownPlaces }) => ownPlaces === 0);

function fitsGauges(r: Candidate, e: EndpointLedger, pool: PoolView): boolean {
  const { policy, share } = pool;
  const gauged = e.gaugedPlaces();
  if (gauged === undefined || policy.gauges === undefined) return true;
  const most = Math.min(cap(r.band, e, pool), policy.gauges.maxInflight);
  if (gauged + r.places <= most) return true;
  if (share === undefined) return false;
  return goesOnTop(r, e, share) || (isKeptOut(r, pool) && r.places <= share.guaranteed(most));
}

/**
 * What has to hold before a request goes to an endpoint, in the order of cost: counts first, gauges last, so that a
 * request held by the gauges alone is known to be. Each is a pure function of the request and one endpoint's view.
 */
export const ADMISSION_TESTS: readonly AdmissionTest[] = [
  {
    name: 'reserved',
    passes: (r, e, { reserved }) => r.reserves || reserved?.endpoint !== e.id || r.band < reserved.band,
  },
  { name: 'count', passes: (r, e, pool) => e.places + r.places <= cap(r.band, e, pool) },
  { name: 'share', passes: keepsToShare },
  {
    name: 'strict_reserve',
    passes: (r, e, pool) =>
      !pool.policy.strictReserve || !isLowBand(r.band, pool.policy) || !pool.topBandAround || pool.lane === e,
  },
  {
    name: 'backlog',
    generating: true,
    passes: (r, e, pool) => e.backlogMs(pool.now) <= backlogLimitMs(r.band, pool.policy),
  },
  {
    name: 'heavy_first',
    generating: true,
    passes: (r, e, pool) =>
      r.kind !== 'heavy' || r.waitedMs >= HEAVY_YIELDS_MS + r.estimateMs || e.backlogMs(pool.now) <= HEAVY_BEHIND_MS,
  },
  { name: 'long', generating: true, passes: fitsLong },
  { name: 'heavy_shape', generating: true, passes: fitsHeavyShape },
  {
    name: 'lane_drain',
    generating: true,
    passes: (r, e, pool) => r.kind === 'long' || !pool.longWaits || pool.lane !== e || longInPrefill(e),
  },
  { name: 'quiet', generating: true, passes: isQuiet },
  { name: 'kv', generating: true, passes: (r, e, pool) => e.kvReserved + r.kvTokens <= kvLimit(r.band, e, pool) },
  {
    name: 'kv_gauge',
    gauge: true,
    generating: true,
    passes: (r, e, pool) =>
      pool.policy.gauges === undefined ||
      ((e.reading?.kvUsage ?? 0) < pool.policy.gauges.kvCeiling &&
        e.kvReserved + e.foreignKvTokens(pool.now) + r.kvTokens <= kvLimit(r.band, e, pool)),
  },
  {
    name: 'max_inflight',
    gauge: true,
    passes: fitsGauges,
  },
];
