import type { EndpointSnapshot, UpstreamSnapshot } from '../admission/upstream-snapshot.js';
import type { BandQueue, QueueSnapshot } from '../admission/queue-snapshot.js';
import { usableSaturation } from '../admission/usable-saturation.js';
import type { Endpoint, EndpointState } from '../engine-observer/endpoint.js';

/** Endpoints of an upstream, and tenants of a band, that are told one by one; all others only count. */
const MOST_ENDPOINTS = 64;
const MOST_TENANTS = 12;

/** One upstream, as a process sees it. */
export interface UpstreamView {
  readonly upstream: string;
  /** Places that its requests take; a request may take several. */
  readonly inUse: number;
  readonly requests: number;
  readonly limit: number;
  readonly waiting: number;
  readonly saturation: number;
  readonly endpoints: readonly EndpointView[];
  readonly bands: readonly BandQueue[];
}

/** The same, as far as a page has room for it. */
export interface ToldUpstream extends Omit<UpstreamView, 'bands'> {
  /** Places that other gateways have told of. */
  readonly elsewhere: number;
  /** Beyond those that are told. */
  readonly moreEndpoints: number;
  readonly bands: readonly ToldBand[];
}

export interface ToldBand extends BandQueue {
  /** Beyond those that are told. */
  readonly others: { readonly tenants: number; readonly depth: number };
}

export interface EndpointView {
  readonly endpoint: string;
  readonly state: EndpointState;
  readonly degraded: boolean;
  readonly complaint: string | undefined;
  readonly down: boolean;
  /** Of the process, and of all that tell each other what they hold. */
  readonly places: number;
  readonly placesOfAll: number;
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
  const engineOf = new Map(engines.map((engine) => [engine.id, engine]));
  return {
    ...{ upstream, inUse, requests, limit, saturation: short(usableSaturation(endpoints) ?? slots.saturation) },
    waiting: slots.waiting.reduce((sum, { depth }) => sum + depth, 0),
    endpoints: endpoints.map((one) => endpointView(one, engineOf.get(one.endpoint), generates, now)),
    bands: (queue?.bands ?? []).map(whole),
  };
}

function endpointView(
  ledger: EndpointSnapshot,
  engine: Endpoint | undefined,
  generates: boolean,
  now: number,
): EndpointView {
  const { endpoint, places, placesOfAll, slots, down, kvReservedTokens } = ledger;
  return {
    ...{ endpoint, places, placesOfAll, slots, down, kvReservedTokens },
    ...engineSide(engine, now),
    saturation: short(ledger.saturation),
    prefillBacklogMs: Math.round(ledger.prefillBacklogMs),
    prefillTokensPerSecond: generates ? Math.round(ledger.prefillTokensPerSecond) : undefined,
  };
}

/** What is known of the engine itself. */
export function engineSide(
  engine: Endpoint | undefined,
  now: number,
): Pick<EndpointView, 'state' | 'degraded' | 'complaint' | 'engine'> {
  return {
    state: engine?.state ?? 'unobserved',
    degraded: engine?.degraded ?? false,
    complaint: engine?.complaint,
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

export function toldUpstream(view: UpstreamView): ToldUpstream {
  const endpoints = view.endpoints.slice(0, MOST_ENDPOINTS);
  const elsewhere = view.endpoints.reduce((sum, { places, placesOfAll }) => sum + Math.max(0, placesOfAll - places), 0);
  const moreEndpoints = view.endpoints.length - endpoints.length;
  return { ...view, elsewhere, endpoints, moreEndpoints, bands: view.bands.map(toldBand) };
}

function toldBand(band: BandQueue): ToldBand {
  const tenants = band.tenants.slice(0, MOST_TENANTS);
  const depth = tenants.reduce((rest, one) => rest - one.depth, band.depth);
  return { ...band, tenants, others: { tenants: band.tenants.length - tenants.length, depth } };
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
  tenants: queue.tenants.map(({ service, oldestMs, ...tenant }) => ({
    ...tenant,
    service: Math.round(service),
    oldestMs: Math.round(oldestMs),
  })),
});

const short = (value: number): number => Math.round(value * 1000) / 1000;
