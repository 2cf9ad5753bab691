import { FakeClock } from '../../../test/support/fake-clock.js';
import type { UpstreamConfig } from '../../common/config/upstreams.config.js';
import { RequestRecord } from '../../common/request-record.js';
import type { QueueSnapshot } from '../admission/queue-snapshot.js';
import type { UpstreamSnapshot } from '../admission/upstream-snapshot.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { houseAbout } from './house-about.js';
import { OperatorDesk, type House } from './operator-desk.js';

const ledger = (endpoint: string, fields: object = {}) => ({
  endpoint,
  places: 2,
  placesOfAll: 2,
  saturation: 0.5,
  down: false,
  prefillBacklogMs: 12.6,
  kvReservedTokens: 100,
  slots: 4,
  prefillTokensPerSecond: 525.4,
  ...fields,
});

const slots = (fields: Partial<UpstreamSnapshot> = {}): UpstreamSnapshot => ({
  upstream: 'reasoning',
  inUse: 2,
  requests: 2,
  limit: 7,
  generates: true,
  waiting: [
    { band: 'gold', depth: 3 },
    { band: 'bronze', depth: 4 },
  ],
  saturation: 0.5,
  held: new Map(),
  endpoints: [ledger('a:80')],
  tenants: [],
  ...fields,
});

const engine = (id: string, fields: Partial<Endpoint> = {}): Endpoint => ({
  ...{ id, upstream: 'reasoning', origin: `http://${id}`, authority: id, degraded: false, staleCount: 0 },
  state: 'healthy',
  snapshot: { running: 3, waiting: 1, kvUsage: 0.12345, kvCapacityTokens: 1000, bootId: 'x', takenAtMs: 400 },
  faults: {} as Endpoint['faults'],
  ...fields,
});

const ABOUT = houseAbout(
  { host: 'here', pid: 7, startedAtMs: 1 },
  {
    server: { replicas: 3, workers: 1 },
    admission: { store: 'redis://:secret@redis:6379/0', bands: [{ name: 'gold', ceiling: 0.9, capacity: 8 }] },
    budgets: { store: 'memory' },
  },
  {
    upstreams: [{ name: 'reasoning', engine: 'vllm', slots: { limit: 7, perEndpoint: 4 } } as UpstreamConfig],
    models: [],
  },
);

/** A desk at 1000 ms of the monotonic clock and 10 s of the other. */
function world({
  of = slots(),
  queues = [] as QueueSnapshot[],
  engines = [engine('a:80')],
  live = [] as RequestRecord[],
  draining = false,
  out = { admission: false, budgets: false },
} = {}) {
  const clock = new FakeClock();
  clock.advance(1000);
  const house: House = {
    about: ABOUT,
    slots: { snapshot: () => [of], queues: () => queues },
    engines: { endpoints: () => engines },
    live: () => live,
    draining: () => draining,
    out: () => out,
  };
  const desk = new OperatorDesk(house, clock, () => 9000 + clock.now());
  return { desk, clock };
}

it('puts together what the slots and the engines of an upstream say', () => {
  const { desk } = world();
  expect(desk.snapshot()).toMatchObject({
    gateway: { host: 'here', pid: 7 },
    atMs: 10_000,
    state: 'serving',
    upstreams: [
      {
        ...{ upstream: 'reasoning', inUse: 2, requests: 2, limit: 7, waiting: 7, saturation: 0.5, moreEndpoints: 0 },
        endpoints: [
          {
            ...{ endpoint: 'a:80', state: 'healthy', places: 2, slots: 4, prefillBacklogMs: 13 },
            prefillTokensPerSecond: 525,
            engine: { running: 3, waiting: 1, kvUsage: 0.123, kvCapacityTokens: 1000, ageMs: 600 },
          },
        ],
      },
    ],
  });
});

it('says of an endpoint that nobody observes no more than is known, and no prefill of one that does none', () => {
  const { desk } = world({ of: slots({ generates: false }), engines: [] });
  const [view] = desk.snapshot().upstreams[0]?.endpoints ?? [];
  expect(view).toMatchObject({ state: 'unobserved', degraded: false });
  expect([view?.engine, view?.prefillTokensPerSecond]).toEqual([undefined, undefined]);
});

it('says how full the endpoints are that serve: one that is down offers nothing', () => {
  const down = ledger('b:80', { saturation: 0, down: true });
  const both = (first: object) => slots({ saturation: 0, endpoints: [ledger('a:80', first), down] });
  expect(world({ of: both({ saturation: 0.75 }) }).desk.snapshot().upstreams[0]?.saturation).toBe(0.75);
  expect(world({ of: both({ saturation: 0.75, down: true }) }).desk.snapshot().upstreams[0]?.saturation).toBe(0);
});

it('names 64 endpoints, and counts the others', () => {
  const many = Array.from({ length: 70 }, (_, at) => ledger(`e${at}:80`));
  const [view] = world({ of: slots({ endpoints: many }) }).desk.snapshot().upstreams;
  expect([view?.endpoints.length, view?.moreEndpoints]).toEqual([64, 6]);
});

it('tells twelve tenants of a band, and counts the others', () => {
  const tenants = Array.from({ length: 30 }, (_, at) => ({ tenant: `t${at}`, service: at, depth: 2, oldestMs: 0.4 }));
  const queue = { upstream: 'reasoning', bands: [{ band: 'gold', depth: 60, oldestMs: 10.6, heads: [], tenants }] };
  const [view] = world({ queues: [queue] }).desk.snapshot().upstreams;
  expect(view?.bands[0]?.tenants).toHaveLength(12);
  expect(view?.bands[0]).toMatchObject({ depth: 60, oldestMs: 11, others: { tenants: 18, depth: 36 } });
});

it('tells what other gateways hold, as far as they tell', () => {
  const [view] = world({ of: slots({ endpoints: [ledger('a:80', { placesOfAll: 3 })] }) }).desk.snapshot().upstreams;
  expect(view).toMatchObject({ inUse: 2, elsewhere: 1 });
});

it('says how engines and budgets are shared, without an address, and what is out', () => {
  const { desk } = world({ out: { admission: true, budgets: false } });
  expect(desk.about()).toMatchObject({ sharing: { replicas: 3, admission: 'redis', budgets: 'memory' }, workers: 1 });
  expect(JSON.stringify(desk.about())).not.toContain('secret');
  expect(desk.snapshot().out).toEqual({ admission: true, budgets: false });
});

it('counts what was turned away before it was known where it would go', () => {
  const { desk, clock } = world();
  const record = new RequestRecord('a', 500, () => undefined);
  desk.take(Object.assign(record, { endedAt: 900, status: 401, problem: 'unauthenticated' }));
  desk.take(Object.assign(new RequestRecord('probe', 600, () => undefined), { endedAt: 700, status: 200 }));
  desk.start();
  clock.advance(2_000);
  desk.stop();
  expect(desk.snapshot().sample?.upstreams['none']).toEqual([0, 0, 0, null, 0, 1, null]);
});

it('says that it drains', () => {
  expect(world({ draining: true }).desk.snapshot().state).toBe('draining');
});

it('samples every two seconds of the wall clock, from its start to its stop', () => {
  const { desk, clock } = world({ engines: [engine('a:80'), engine('b:80', { state: 'stale' })] });
  desk.start();
  clock.advance(6_500);
  desk.stop();
  clock.advance(60_000);
  // The wall clock began at ten seconds, on the grid.
  expect(desk.history().newest).toBe(8);
  expect(desk.history().upstreams['reasoning']).toHaveLength(3);
  expect(desk.history().upstreams['reasoning']?.[0]).toEqual([2, 7, 0.5, 0.123, 0, 0, null]);
});

it('knows a request that runs, and the same when it has ended', () => {
  const record = new RequestRecord('a', 500, () => undefined);
  const live = [record];
  const { desk } = world({ live });
  expect(desk.stories('a').stories).toMatchObject([{ live: true, arrivedAtMs: 9500, tookMs: 500 }]);
  expect(desk.snapshot().running).toMatchObject({ count: 1, longest: [{ requestId: 'a' }] });
  live.length = 0;
  Object.assign(record, { endedAt: 900, status: 503, problem: 'queue-full', upstream: 'reasoning' });
  desk.take(record);
  expect(desk.stories('a').stories).toMatchObject([{ live: false, status: 503, tookMs: 400 }]);
  expect(desk.snapshot()).toMatchObject({
    recent: [{ requestId: 'a' }],
    rejections: [{ requestId: 'a', reason: 'queue_full', times: 1 }],
  });
});
