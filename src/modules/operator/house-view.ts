import type { EndpointSnapshot, UpstreamSnapshot } from '../admission/upstream-snapshot.js';
import type { BandQueue, QueueSnapshot } from '../admission/queue-snapshot.js';
import type { Endpoint, EndpointState } from '../engine-observer/endpoint.js';

/** Endpoints of an upstream that are told one by one. */
const MOST_ENDPOINTS = 64;

/**
 * One upstream, as this process sees it. To put several processes together: `inUse`, `requests`, `limit`, `waiting`,
 * `places`, `kvReservedTokens` and the depths are this one's own and can be added; what an engine says of itself
 * (`engine`) is the same for all, and the youngest reading counts; of saturations and ages the largest does.
 */
export interface UpstreamView {
  readonly upstream: string;
  readonly inUse: number;
  readonly requests: number;
  readonly limit: number;
  readonly waiting: number;
  readonly saturation: number;
  readonly endpoints: readonly EndpointView[];
  /** Beyond those. */
  readonly moreEndpoints: number;
  readonly bands: readonly BandQueue[];
}

export interface EndpointView {
  readonly endpoint: string;
  readonly state: EndpointState;
  readonly degraded: boolean;
  readonly complaint: string | undefined;
  readonly down: boolean;
  readonly places: number;
  readonly slots: number;
  readonly saturation: number;
  readonly kvReservedTokens: number;
  readonly prefillBacklogMs: number;
  /** Learned; undefined: an engine that does not prefill. */
  readonly prefillTokensPerSecond: number | undefined;
  readonly engine: EngineView | undefined;
}

/** What the engine last said. A member that is undefined is not known. */
export interface EngineView {
  readonly running: number | undefined;
  readonly waiting: number | undefined;
  /** 0 to 1. */
  readonly kvUsage: number | undefined;
  readonly kvCapacityTokens: number | undefined;
  readonly ageMs: number;
}

/** Puts together what the slots, the queues and the engines of one upstream say. */
export function upstreamView(
  slots: UpstreamSnapshot,
  queue: QueueSnapshot | undefined,
  engines: readonly Endpoint[],
  now: number,
): UpstreamView {
  const { upstream, inUse, requests, limit, endpoints, generates } = slots;
  const told = endpoints.slice(0, MOST_ENDPOINTS);
  const engineOf = new Map(engines.map((engine) => [engine.id, engine]));
  return {
    ...{ upstream, inUse, requests, limit, saturation: short(usableSaturation(slots)) },
    waiting: slots.waiting.reduce((sum, { depth }) => sum + depth, 0),
    endpoints: told.map((one) => endpointView(one, engineOf.get(one.endpoint), generates, now)),
    moreEndpoints: endpoints.length - told.length,
    bands: (queue?.bands ?? []).map(whole),
  };
}

/** Of the endpoint that is least full; one that is down has no room to offer. */
function usableSaturation({ endpoints, saturation }: UpstreamSnapshot): number {
  const usable = endpoints.filter(({ down }) => !down);
  return usable.length === 0 ? saturation : Math.min(...usable.map((one) => one.saturation));
}

function endpointView(
  ledger: EndpointSnapshot,
  engine: Endpoint | undefined,
  generates: boolean,
  now: number,
): EndpointView {
  const { endpoint, places, slots, down, kvReservedTokens } = ledger;
  return {
    ...{ endpoint, places, slots, down, kvReservedTokens },
    state: engine?.state ?? 'unobserved',
    degraded: engine?.degraded ?? false,
    complaint: engine?.complaint,
    saturation: short(ledger.saturation),
    prefillBacklogMs: Math.round(ledger.prefillBacklogMs),
    prefillTokensPerSecond: generates ? Math.round(ledger.prefillTokensPerSecond) : undefined,
    engine: engineView(engine, now),
  };
}

function engineView(engine: Endpoint | undefined, now: number): EngineView | undefined {
  if (engine?.snapshot === undefined) return undefined;
  const { running, waiting, kvUsage, kvCapacityTokens, takenAtMs } = engine.snapshot;
  return {
    ...{ running, waiting, kvCapacityTokens },
    kvUsage: kvUsage === undefined ? undefined : short(kvUsage),
    ageMs: Math.round(now - takenAtMs),
  };
}

/** Of the fullest engine whose gauges count; undefined: none says. */
export function fullestKv(engines: readonly Endpoint[]): number | undefined {
  let most: number | undefined;
  for (const { state, snapshot } of engines) {
    if (state === 'stale' || snapshot?.kvUsage === undefined) continue;
    most = Math.max(most ?? 0, snapshot.kvUsage);
  }
  return most;
}

/** Whole milliseconds: nobody reads more, and the line is shorter. */
const whole = (queue: BandQueue): BandQueue => ({
  ...queue,
  oldestMs: Math.round(queue.oldestMs),
  heads: queue.heads.map((head) => ({
    ...head,
    waitedMs: Math.round(head.waitedMs),
    leftMs: Math.round(head.leftMs),
  })),
  tenants: queue.tenants.map((tenant) => ({ ...tenant, oldestMs: Math.round(tenant.oldestMs) })),
});

const short = (value: number): number => Math.round(value * 1000) / 1000;
