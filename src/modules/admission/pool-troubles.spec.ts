import { FakeClock } from '../../../test/support/fake-clock.js';
import { poolSnapshot } from './upstream-snapshot.js';
import { Pool } from './core/pool.js';
import type {
  GaugeReading,
  Lease,
  PoolListener,
  PoolPolicy,
  PoolRequest,
  Refusal,
  RefusalReason,
} from './core/pool-types.js';

const ENGINE = 'e1:80';
const policy: PoolPolicy = {
  name: 'reasoning',
  bands: [
    { name: 'platinum', ceiling: 1, capacity: 100, ttlMs: 300_000 },
    { name: 'gold', ceiling: 1, capacity: 3, ttlMs: 300_000 },
  ],
  defaultBand: 1,
  limit: 4,
  slotsPerEndpoint: 4,
  retryAfterMs: 1000,
  strictReserve: false,
  generates: false,
  gauges: { kvCeiling: 0.9, maxInflight: 4, maxParkMs: 120_000 },
};

const asked = (changes: Partial<PoolRequest> = {}): PoolRequest => ({
  ...{ tenant: 'a', band: 1, places: 1, promptTokens: 100, cachedTokens: 0, outputTokens: 50, stretchable: true },
  ...changes,
});

/** What has become of those who asked, in order. */
class Asked implements PoolListener {
  readonly leases: Lease[] = [];
  readonly refusals: (readonly [Refusal, seconds: number, RefusalReason | undefined])[] = [];
  granted(lease: Lease): void {
    this.leases.push(lease);
  }
  refused(refusal: Refusal, seconds: number, why?: RefusalReason): void {
    this.refusals.push([refusal, seconds, why]);
  }
}

function world(changes: Partial<PoolPolicy> = {}, endpoints: readonly string[] = [ENGINE]) {
  const clock = new FakeClock();
  const pool = new Pool({ ...policy, ...changes }, clock, () => 0);
  pool.setEndpoints(endpoints);
  const read = (gauges: Partial<GaugeReading>): void =>
    pool.read(ENGINE, { running: 0, waiting: 0, takenAtMs: clock.now(), ...gauges });
  const ask = (count: number, changes: Partial<PoolRequest> = {}): Asked => {
    const all = new Asked();
    for (let i = 0; i < count; i += 1) pool.enqueue(asked(changes), all);
    return all;
  };
  return { clock, pool, read, ask };
}

describe('Pool: gauges that are too old', () => {
  it('end a slow start: without a reading it would never go on', () => {
    const { clock, pool, read, ask } = world();
    read({ bootId: 'a' });
    clock.advance(2000);
    read({ bootId: 'b' });
    pool.read(ENGINE, undefined);
    expect(ask(4).leases).toHaveLength(4);
  });

  it('do not hide a restart that took longer than they are believed', () => {
    const { clock, pool, read, ask } = world();
    read({ bootId: 'a' });
    pool.read(ENGINE, undefined);
    clock.advance(60_000);
    read({ bootId: 'b' });
    const { leases } = ask(4);
    const seen = [leases.length];
    for (let running = 1; running <= 4; running *= 2) {
      clock.advance(2000);
      read({ bootId: 'b', running: leases.length });
      seen.push(leases.length);
    }
    expect(seen).toEqual([1, 2, 4, 4]);
  });

  it('are no restart where the engine is the one that it was', () => {
    const { clock, pool, read, ask } = world();
    read({ bootId: 'a' });
    pool.read(ENGINE, undefined);
    clock.advance(60_000);
    read({ bootId: 'a' });
    expect(ask(4).leases).toHaveLength(4);
  });

  it('leave the memory of the engine as large as it was', () => {
    const { pool, read, ask } = world({ generates: true });
    read({ kvUsage: 0, kvCapacityTokens: 10_000 });
    const { leases } = ask(2, { outputTokens: 6000 });
    expect(leases).toHaveLength(1);
    leases[0]?.firstToken();
    pool.read(ENGINE, undefined);
    expect([leases.length, poolSnapshot(pool, 0).saturation]).toEqual([1, expect.closeTo(0.68, 1)]);
    leases[0]?.release();
    expect(leases).toHaveLength(2);
  });
});

describe('Pool: who waits while all slots are taken', () => {
  it('is not saturated by gauges that would let it in', () => {
    const { clock, read, ask } = world({ limit: 2 });
    read({ running: 4 });
    const { refusals } = ask(1);
    clock.advance(1000);
    const above = ask(2, { band: 0 });
    read({ running: 0 });
    expect(above.leases).toHaveLength(2);
    for (let at = 0; at < 140; at += 2) {
      clock.advance(2000);
      read({ running: 2 });
    }
    expect(refusals).toEqual([]);
    clock.advance(160_000);
    expect(refusals).toEqual([
      ['queue-timeout', 1, { waiting: 0, waitedMs: expect.any(Number) as number, heldBy: 'limit' }],
    ]);
  });

  it('is held by that, in every band', () => {
    const { clock, pool, ask } = world({ limit: 1 });
    ask(1);
    ask(1);
    ask(1, { band: 0 });
    clock.advance(250);
    expect(pool.held.get('limit')).toBe(2);
  });

  it('is not held by gauges while another tenant stands before it', () => {
    const { clock, read, ask, pool } = world({ limit: 8 });
    read({ running: 4 });
    const first = ask(1, { tenant: 'b' });
    clock.advance(100_000);
    // Its turn comes before: it has had as little, and its name is the smaller one.
    const before = pool.enqueue(asked({ tenant: 'a' }), new Asked());
    clock.advance(30_000);
    before.cancel();
    clock.advance(119_000);
    expect(first.refusals).toEqual([]);
    clock.advance(2000);
    expect(first.refusals.map(([refusal]) => refusal)).toEqual(['engine-saturated']);
  });
});

describe('Pool: an address that leaves the list and comes back', () => {
  it('has what it had, and is told of meanwhile', () => {
    const { clock, pool, ask } = world({ limit: 8, slotsPerEndpoint: 2, gauges: undefined }, ['a:80', 'b:80']);
    const { leases } = ask(4);
    pool.setEndpoints(['b:80']);
    expect(poolSnapshot(pool, clock.now())).toMatchObject({ inUse: 4, requests: 4 });
    pool.setEndpoints(['a:80', 'b:80']);
    ask(2);
    const { requests, endpoints } = poolSnapshot(pool, clock.now());
    expect([requests, endpoints.map(({ places }) => places), pool.depth(1)]).toEqual([4, [2, 2], 2]);
    for (const lease of leases) lease.release();
    expect([pool.inUse, pool.running, pool.depth(1)]).toEqual([2, 2, 0]);
  });

  it('is empty where all that ran there has ended', () => {
    const { pool, ask } = world({ gauges: undefined }, ['a:80']);
    const { leases } = ask(1);
    pool.setEndpoints(['b:80']);
    leases[0]?.release();
    expect([pool.inUse, pool.running]).toEqual([0, 0]);
    pool.setEndpoints(['a:80']);
    expect(ask(4).leases).toHaveLength(4);
  });
});

describe('Pool: endpoints that refuse one after the other', () => {
  it('are left for the next one three times', () => {
    const { ask, pool } = world({ gauges: undefined }, ['a:80', 'b:80', 'c:80', 'd:80', 'e:80']);
    const all = ask(1);
    const tried = (): (string | undefined)[] => all.leases.map(({ endpoint }) => endpoint);
    for (let at = 0; at < 3; at += 1) expect(all.leases[at]?.refused(all)).toBeDefined();
    expect(tried()).toEqual(['a:80', 'b:80', 'c:80', 'd:80']);
    expect(all.leases[3]?.refused(all)).toBeUndefined();
    expect([pool.inUse, pool.depth(1)]).toEqual([0, 0]);
  });

  it('count for nothing in how full the others are', () => {
    const { ask, pool, clock } = world({ gauges: undefined, limit: 8 }, ['a:80', 'b:80']);
    const all = ask(1);
    all.leases[0]?.refused(all);
    expect(poolSnapshot(pool, clock.now()).saturation).toBe(0.25);
  });
});

describe('Pool: when to come back', () => {
  it('is told by how fast places come free under load, not by the hours in which nobody came', () => {
    const { clock, ask } = world({ limit: 1, gauges: undefined });
    for (let i = 0; i < 5; i += 1) {
      const { leases } = ask(1);
      clock.advance(2000);
      leases[0]?.release();
      clock.advance(3_600_000);
    }
    // One runs and three wait, each for two seconds.
    expect(ask(5).refusals).toEqual([['queue-full', 6, expect.anything()]]);
  });

  it('is later where the next one is overdue', () => {
    const { clock, ask } = world({ limit: 1, gauges: undefined });
    const { leases } = ask(4);
    clock.advance(1000);
    leases[0]?.release();
    clock.advance(1000);
    leases[1]?.release();
    ask(2);
    clock.advance(3000);
    expect(ask(1).refusals).toEqual([['queue-full', 9, expect.anything()]]);
  });
});
