import { FakeClock } from '../../../test/support/fake-clock.js';
import { UNLIMITED } from '../budgets/reservation.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import type { QueueSnapshot } from './queue-snapshot.js';
import { SlotController } from './slot-controller.js';
import type { Departing, Slot } from './slot.js';
import { TEST_WORDS } from './test-words.js';

const POLICY = {
  retryAfterMs: 1000,
  strictReserve: false,
  defaultBand: 'gold',
  bands: [
    { name: 'gold', ceiling: 1, capacity: 100, ttlMs: 60_000 },
    { name: 'bronze', ceiling: 0.5, capacity: 100, ttlMs: 60_000 },
  ],
};
const endpoint = { id: '10.0.0.1:80', upstream: 'up', state: 'unobserved', degraded: false, staleCount: 0 };
const engines = {
  endpoints: () => [endpoint as Endpoint],
  onEndpoints: () => undefined,
  onSnapshot: () => undefined,
};

/** One endpoint with two places; whoever asks is told apart by an id. */
function world() {
  const clock = new FakeClock();
  const up = { name: 'up', engine: 'http', slots: { limit: 2, perEndpoint: 2 } };
  const slots = new SlotController(POLICY, [up], engines, clock, { random: () => 0 });
  const told: string[] = [];
  const ask = (requestId: string, tenant: string, band = 'gold'): Slot | Promise<Slot> => {
    const client: Departing = {
      requestId,
      gone: false,
      committed: false,
      signal: new AbortController().signal,
      queued: (ahead) => told.push(`${requestId} behind ${ahead}`),
      held: (test) => told.push(`${requestId} held by ${test}`),
    };
    const caller = { tenant, band, scopes: undefined };
    return slots.acquire(
      { upstream: 'up', caller, request: undefined, contextLength: 0, reservation: UNLIMITED },
      client,
    );
  };
  const queue = (): QueueSnapshot | undefined => slots.queues()[0];
  return { clock, ask, told, queue };
}

it('is empty where nobody waits', () => {
  const { ask, queue, told } = world();
  void ask('a', 'acme');
  const nothing = { depth: 0, oldestMs: 0, heads: [], tenants: [] };
  expect(queue()).toEqual({
    upstream: 'up',
    bands: [
      { band: 'gold', ...nothing },
      { band: 'bronze', ...nothing },
    ],
  });
  expect(told).toEqual([]);
});

it('tells each band’s tenants in the order of their turns, how long they wait, and what holds the first', () => {
  const { clock, ask, queue } = world();
  void ask('a1', 'acme');
  void ask('a2', 'acme');
  void ask('a3', 'acme');
  clock.advance(100);
  void ask('b1', 'bolt');
  void ask('b2', 'bolt');
  clock.advance(100);
  void ask('c1', 'crawl', 'bronze');
  clock.advance(50);
  const [gold, bronze] = queue()?.bands ?? [];
  // acme has two places already, so it is bolt's turn, whoever came first.
  expect(gold).toMatchObject({
    depth: 3,
    oldestMs: 250,
    tenants: [
      { tenant: 'bolt', depth: 2, oldestMs: 150 },
      { tenant: 'acme', depth: 1, oldestMs: 250 },
    ],
    heads: [{ requestId: 'b1', tenant: 'bolt', waitedMs: 150, leftMs: 59_850 }],
  });
  expect(bronze).toMatchObject({ depth: 1, oldestMs: 50, heads: [{ requestId: 'c1' }] });
});

it('tells a client that it waits, behind how many, and every other test that holds it; nothing where nobody waits', async () => {
  const { ask, told, queue } = world();
  await ask('a', 'acme');
  void ask('c', 'crawl', 'bronze');
  void ask('d', 'crawl', 'bronze');
  expect(told).toEqual(['c held by count', 'c behind 0', 'd behind 1']);
  expect(queue()?.bands[1]?.heads).toMatchObject([{ requestId: 'c', heldBy: 'count' }]);
  // A place is free for its band, whoever waits in another one.
  void ask('b', 'bolt');
  expect(told.slice(3)).toEqual(['b behind 0']);
  // Now all are taken, and that is what holds everybody.
  expect(queue()?.bands[1]?.heads).toMatchObject([{ requestId: 'c', heldBy: 'limit' }]);
});

it('has words for every test, none of them another’s', () => {
  const words = Object.values(TEST_WORDS);
  expect(new Set(words).size).toBe(words.length);
});
