import { FakeClock } from '../../../test/support/fake-clock.js';
import { RequestRecord } from '../../common/request-record.js';
import type { UpstreamSnapshot } from '../admission/upstream-snapshot.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { OperatorDesk, type House } from './operator-desk.js';

const ledger = (endpoint: string, fields: object = {}) => ({
  endpoint,
  places: 2,
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

/** A desk at 1000 ms of the monotonic clock and 10 s of the other. */
function world({ of = slots(), engines = [engine('a:80')], live = [] as RequestRecord[], draining = false } = {}) {
  const clock = new FakeClock();
  clock.advance(1000);
  const house: House = {
    slots: { snapshot: () => [of], queues: () => [] },
    engines: { endpoints: () => engines },
    table: { upstreams: [{ name: 'reasoning' }], models: [] } as unknown as House['table'],
    bands: [{ name: 'gold', ceiling: 0.9, capacity: 8 }],
    live: () => live,
    draining: () => draining,
  };
  const desk = new OperatorDesk(house, { host: 'here', pid: 7, startedAtMs: 1 }, clock, () => 9000 + clock.now());
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
  expect(desk.stories('a')).toMatchObject([{ live: true, arrivedAtMs: 9500, tookMs: 500 }]);
  expect(desk.snapshot().running).toMatchObject({ count: 1, longest: [{ requestId: 'a' }] });
  live.length = 0;
  Object.assign(record, { endedAt: 900, status: 503, problem: 'queue-full', upstream: 'reasoning' });
  desk.take(record);
  expect(desk.stories('a')).toMatchObject([{ live: false, status: 503, tookMs: 400 }]);
  expect(desk.snapshot()).toMatchObject({
    recent: [{ requestId: 'a' }],
    rejections: [{ requestId: 'a', reason: 'queue_full', times: 1 }],
  });
});
