import type { BandQueue, QueueHead } from '../admission/queue-snapshot.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { summedUpstreams, withEngines } from './summed-upstreams.js';
import type { EndpointView, UpstreamView } from './upstream-view.js';

const endpoint = (id: string, fields: Partial<EndpointView> = {}): EndpointView => ({
  ...{ endpoint: id, state: 'healthy', degraded: false, complaint: undefined, down: false },
  ...{ places: 1, placesOfAll: 3, slots: 4, saturation: 0.5, kvReservedTokens: 100, prefillBacklogMs: 10 },
  prefillTokensPerSecond: 500,
  engine: undefined,
  ...fields,
});

const head = (requestId: string, fields: Partial<QueueHead> = {}): QueueHead => ({
  ...{ requestId, tenant: 'acme', kind: 'light', promptTokens: 10, waitedMs: 100, leftMs: 900, heldBy: 'count' },
  ...fields,
});

const band = (fields: Partial<BandQueue> = {}): BandQueue => ({
  ...{ band: 'gold', depth: 0, oldestMs: 0, heads: [], tenants: [] },
  ...fields,
});

const view = (fields: Partial<UpstreamView> = {}): UpstreamView => ({
  ...{ upstream: 'up', inUse: 1, requests: 1, limit: 7, waiting: 0, saturation: 0.5 },
  endpoints: [endpoint('a:80')],
  bands: [band()],
  ...fields,
});

const sum = (...views: UpstreamView[]): UpstreamView | undefined =>
  summedUpstreams(
    views.map((one) => [one]),
    ['up'],
  )[0];

it('adds up what each process has of its own; the limit is that of all of them', () => {
  const summed = sum(view({ inUse: 2, waiting: 3 }), view({ inUse: 3, requests: 2, waiting: 1 }));
  expect(summed).toMatchObject({ inUse: 5, requests: 3, limit: 7, waiting: 4, saturation: 0.5 });
});

it('has every endpoint once, with the places of all processes; of what others hold the least that is told', () => {
  const summed = sum(
    view({ endpoints: [endpoint('a:80'), endpoint('b:80', { prefillTokensPerSecond: 400 })] }),
    view({ endpoints: [endpoint('b:80', { places: 2, placesOfAll: 5, down: true, prefillTokensPerSecond: 600 })] }),
  );
  expect(summed?.endpoints).toMatchObject([
    { endpoint: 'a:80', places: 1, placesOfAll: 3, down: false },
    { endpoint: 'b:80', places: 3, placesOfAll: 3, down: true, prefillTokensPerSecond: 500, kvReservedTokens: 100 },
  ]);
});

it('knows of no fewer places than its processes have, whatever they have heard of each other', () => {
  const alone = view({ endpoints: [endpoint('a:80', { places: 2, placesOfAll: 2 })] });
  expect(sum(alone, alone)?.endpoints[0]).toMatchObject({ places: 4, placesOfAll: 4, saturation: 1 });
});

it('takes a place that was asked for in vain, and told, for none', () => {
  const misled = view({ endpoints: [endpoint('a:80', { places: 4, placesOfAll: 7, saturation: 1.75 })] });
  const knows = view({ endpoints: [endpoint('a:80', { places: 0, placesOfAll: 4, saturation: 1 })] });
  expect(sum(misled, knows)).toMatchObject({
    saturation: 1,
    endpoints: [{ places: 4, placesOfAll: 4, saturation: 1 }],
  });
});

it('makes one line of each band, with every tenant once, in the order of their turns', () => {
  const tenants = (...lines: [string, number, number, number][]) =>
    lines.map(([tenant, service, depth, oldestMs]) => ({ tenant, service, depth, oldestMs }));
  const summed = sum(
    view({ bands: [band({ depth: 3, oldestMs: 300, tenants: tenants(['acme', 50, 2, 300], ['bolt', 90, 1, 10]) })] }),
    view({ bands: [band({ depth: 3, oldestMs: 200, tenants: tenants(['bolt', 90, 2, 200], ['crawl', 10, 1, 5]) })] }),
  );
  expect(summed?.bands).toMatchObject([
    {
      ...{ band: 'gold', depth: 6, oldestMs: 300 },
      tenants: tenants(['crawl', 10, 1, 5], ['acme', 50, 2, 300], ['bolt', 90, 3, 200]),
    },
  ]);
});

it('says whose turn it is: one that leaves its turn to another process does not have it', () => {
  const heads = (...of: QueueHead[]) => view({ bands: [band({ depth: of.length, heads: of })] });
  const summed = sum(
    heads(head('yields', { waitedMs: 900, heldBy: 'yield' }), head('large', { kind: 'heavy' })),
    heads(head('first', { waitedMs: 200 })),
    heads(head('second', { waitedMs: 150 })),
  );
  expect(summed?.bands[0]?.heads.map(({ requestId, kind }) => [requestId, kind])).toEqual([
    ['first', 'light'],
    ['large', 'heavy'],
  ]);
});

it('keeps the order of the configuration, whoever knows of what', () => {
  const all = summedUpstreams(
    [[view({ upstream: 'b' })], [view({ upstream: 'b' }), view({ upstream: 'a' })]],
    ['a', 'b'],
  );
  expect(all.map(({ upstream, inUse }) => [upstream, inUse])).toEqual([
    ['a', 1],
    ['b', 2],
  ]);
});

it('tells of the engines what the process has read that polls them', () => {
  const engine = { id: 'a:80', state: 'stale', degraded: true, complaint: 'status 500' } as Endpoint;
  const [one, other] = withEngines(view({ endpoints: [endpoint('a:80'), endpoint('b:80')] }), [engine], 0).endpoints;
  expect(one).toMatchObject({ state: 'stale', degraded: true, complaint: 'status 500', places: 1 });
  expect(other).toMatchObject({ state: 'unobserved' });
});
