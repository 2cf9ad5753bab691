import { FakeClock } from '../../../../test/support/fake-clock.js';
import { Pool } from './pool.js';
import type { Lease, PoolPolicy, PoolRequest } from './pool-types.js';
import type { Claim, ClaimStore } from './shared-ledger.js';
import type { PoolSharing } from './sharing.js';

const policy: PoolPolicy = {
  name: 'reasoning',
  bands: [{ name: 'gold', ceiling: 1, capacity: 10, ttlMs: 20_000 }],
  defaultBand: 0,
  limit: 4,
  slotsPerEndpoint: 2,
  retryAfterMs: 5000,
  strictReserve: false,
  generates: false,
  gauges: undefined,
};

/** Answers when a test says so. */
class AskedStore implements ClaimStore {
  readonly claims: { readonly claim: Claim; readonly answer: (granted: boolean) => void }[] = [];
  readonly released: string[] = [];

  claim(claim: Claim): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.claims.push({ claim, answer: resolve });
    return promise;
  }

  release(id: string): void {
    this.released.push(id);
  }

  async answer(index: number, granted: boolean): Promise<void> {
    this.claims[index]?.answer(granted);
    await Promise.resolve();
    await Promise.resolve();
  }
}

const sharingWith = (store: ClaimStore): PoolSharing => ({
  index: 0,
  gateways: 2,
  epoch: 'one',
  readEveryMs: 2000,
  wallTime: () => 0,
  tenantKey: (tenant) => `#${tenant}`,
  store,
  told: () => false,
  live: () => true,
});

function world<S extends ClaimStore>(store: S) {
  const clock = new FakeClock();
  const pool = new Pool(policy, clock, () => 0, sharingWith(store));
  pool.setEndpoints(['e0']);
  const told: string[] = [];
  const leases: Lease[] = [];
  const ask = (name: string, committed = false) => {
    const request: PoolRequest = {
      ...{ tenant: name, band: 0, places: 1, promptTokens: 10 },
      ...{ cachedTokens: 0, outputTokens: 10, stretchable: true },
    };
    return pool.enqueue(request, {
      committed: () => committed,
      granted: (lease) => {
        told.push(name);
        leases.push(lease);
      },
      refused: (why) => void told.push(`${name}: ${why}`),
    });
  };
  return { clock, pool, store, told, leases, ask };
}

describe('a claim', () => {
  it('is told to others once the store has confirmed it, and not before', async () => {
    const { clock, pool, store, ask } = world(new AskedStore());
    const told = (): number => pool.shared(clock.now())?.leases.length ?? 0;
    ask('a');
    ask('b');
    expect([pool.inUse, told()]).toEqual([2, 0]);
    await store.answer(0, true);
    expect(told()).toBe(1);
    await store.answer(1, false);
    expect(told()).toBe(1);
  });

  it('is counted from the decision on, and the request is told when the store has confirmed it', async () => {
    const { pool, store, told, leases, ask } = world(new AskedStore());
    ask('a');
    expect(pool.inUse).toBe(1);
    expect(told).toEqual([]);
    expect(store.claims[0]?.claim).toMatchObject({
      ...{ endpointPlaces: 2, poolPlaces: 4, whenIdle: true },
      lease: { endpoint: 'e0', places: 1 },
    });
    await store.answer(0, true);
    expect(told).toEqual(['a']);
    leases[0]?.release();
    leases[0]?.release();
    expect(store.released).toEqual([store.claims[0]?.claim.id]);
    expect(pool.inUse).toBe(0);
  });

  it('that is refused puts the request back where it stood, ahead of those that came later', async () => {
    const { clock, pool, store, told, ask } = world(new AskedStore());
    ask('a');
    ask('a');
    ask('a');
    await store.answer(0, false);
    await store.answer(1, false);
    expect(pool.inUse).toBe(0);
    expect(pool.depth(0)).toBe(3);
    clock.advance(250);
    expect(store.claims).toHaveLength(4);
    await store.answer(2, true);
    await store.answer(3, true);
    expect(told).toEqual(['a', 'a']);
    expect(pool.depth(0)).toBe(1);
  });

  it.each([
    ['a client that leaves', ({ ticket }: { ticket: { cancel(): void } }) => ticket.cancel(), []],
    ['the end of its patience', ({ clock }: { clock: FakeClock }) => clock.advance(20_250), ['a: queue-timeout']],
    ['the end of a drain', ({ pool }: { pool: Pool }) => pool.endDrain(), ['a: draining']],
  ])('is given back once by %s, whatever the store says later', async (_, happens, end) => {
    const made = world(new AskedStore());
    const { clock, pool, store, told } = made;
    const ticket = made.ask('a');
    happens({ ticket, clock, pool });
    ticket.cancel();
    expect(told).toEqual(end);
    expect(pool.inUse).toBe(0);
    expect(new Set(store.released)).toEqual(new Set([store.claims[0]?.claim.id]));
    await store.answer(0, true);
    expect(told).toEqual(end);
    expect(pool.inUse).toBe(0);
    expect(pool.endpoints.get('e0')?.places).toBe(0);
    expect(clock.timers).toBe(0);
  });

  it('that comes to nothing during a drain turns its request away', async () => {
    const { pool, store, told, ask } = world(new AskedStore());
    ask('a');
    pool.drain();
    expect(told).toEqual([]);
    await store.answer(0, false);
    expect(told).toEqual(['a: draining']);
  });

  it('is answered at once by a store in this process', () => {
    let free = 1;
    const { clock, pool, told, leases, ask } = world({
      claim: () => (free > 0 ? ((free -= 1), true) : false),
      release: () => void (free += 1),
    });
    ask('a');
    ask('b');
    expect(told).toEqual(['a']);
    expect(pool.depth(0)).toBe(1);
    expect(pool.inUse).toBe(1);
    leases[0]?.release();
    expect(told).toEqual(['a', 'b']);
    leases[1]?.release();
    expect(clock.timers).toBe(0);
  });
});
