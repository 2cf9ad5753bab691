import type { PoolRequest } from '../modules/admission/core/pool-types.js';
import { BANDS, KV_CEILING, type GateMaker, type GateSite } from './gate.js';
import { PlainGate, type EndpointView, type GateRule } from './plain-gate.js';

const PARK_MS = 120_000;
const PER_GATEWAY = 4;

const maker =
  (ruleOf: (site: GateSite) => Omit<GateRule, 'inBands'> & Partial<GateRule>): GateMaker =>
  (site) =>
    new PlainGate({ inBands: false, ...ruleOf(site) }, site.clock);

/** Any of the endpoints: what a service's one address does. */
function anyOf(endpoints: readonly EndpointView[], random: () => number): EndpointView | undefined {
  return endpoints[Math.floor(random() * endpoints.length)];
}

/** Requests at an endpoint as its gauges had them; 0 where they are unknown, which is how such gates fail open. */
const gauged = ({ reading }: EndpointView): number => (reading?.running ?? 0) + (reading?.waiting ?? 0);

/** The same, or what this gateway knows better by itself. */
const accounted = (endpoint: EndpointView): number => {
  if (endpoint.reading === undefined) return endpoint.own;
  return Math.max(endpoint.own, gauged(endpoint) + endpoint.grantsSinceReading - endpoint.releasesSinceReading);
};

const hasKv = ({ reading }: EndpointView): boolean => (reading?.kvUsage ?? 0) < KV_CEILING;

/** Everything goes to the engines at once. */
export const noGate = maker(({ random }) => ({
  patienceMs: Infinity,
  refusal: 'queue-timeout',
  pick: (_, endpoints) => anyOf(endpoints, random),
}));

/** A semaphore in each gateway. */
export const perGateway = maker(({ random }) => ({
  patienceMs: PARK_MS,
  refusal: 'queue-timeout',
  pick: (_, endpoints) => {
    const own = endpoints.reduce((sum, endpoint) => sum + endpoint.own, 0);
    return own < PER_GATEWAY ? anyOf(endpoints, random) : undefined;
  },
}));

/** Parks while the engines' own gauges say so, and knows nothing in between two readings. */
export const gaugesAlone = (parkMs = PARK_MS): GateMaker =>
  maker(({ random, slots }) => ({
    patienceMs: parkMs,
    refusal: 'engine-saturated',
    pick: (_, endpoints) =>
      anyOf(
        endpoints.filter((endpoint) => gauged(endpoint) < slots && hasKv(endpoint)),
        random,
      ),
  }));

/** The same, with what this gateway has granted and got back. */
export const gaugesAndLedger = maker(({ random, slots }) => ({
  patienceMs: PARK_MS,
  refusal: 'engine-saturated',
  pick: (_, endpoints) =>
    anyOf(
      endpoints.filter((endpoint) => accounted(endpoint) < slots && hasKv(endpoint)),
      random,
    ),
}));

/** Ceilings on one number for the whole pool, tenants in turn, and no idea of what a request costs. */
export const bandsAlone = maker(({ random, slots }) => ({
  inBands: true,
  patienceMs: PARK_MS,
  refusal: 'queue-timeout',
  pick: ({ band }: PoolRequest, endpoints) => {
    const places = endpoints.reduce((sum, endpoint) => sum + accounted(endpoint), 0);
    const kv = Math.max(0, ...endpoints.map(({ reading }) => reading?.kvUsage ?? 0));
    const saturation = Math.max((places + 1) / (slots * endpoints.length), kv);
    return saturation <= (BANDS[band]?.ceiling ?? 0) ? anyOf(endpoints, random) : undefined;
  },
}));
