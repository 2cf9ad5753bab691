import { FakeClock as VirtualClock } from '../../../../test/support/fake-clock.js';
import { Pool } from './pool.js';
import type { Lease, PoolListener, PoolPolicy, PoolRequest } from './pool-types.js';

const policy: PoolPolicy = {
  name: 'reasoning',
  bands: [
    { name: 'gold', ceiling: 1, capacity: 100, ttlMs: 60_000 },
    { name: 'bronze', ceiling: 0.5, capacity: 100, ttlMs: 60_000 },
  ],
  defaultBand: 0,
  limit: 8,
  slotsPerEndpoint: 4,
  retryAfterMs: 5000,
  strictReserve: false,
  generates: false,
  gauges: undefined,
};

const asked = (band = 0, tenant = 'a'): PoolRequest => ({
  tenant,
  band,
  places: 1,
  promptTokens: 100,
  cachedTokens: 0,
  outputTokens: 50,
  stretchable: false,
});

/** What becomes of one request after the other. */
class Outcomes {
  readonly leases: Lease[] = [];
  readonly refusals: string[] = [];
  readonly listener: PoolListener = {
    granted: (lease) => this.leases.push(lease),
    refused: (refusal) => this.refusals.push(refusal),
  };
}

describe('Pool: how long one has waited', () => {
  /** As the machine's: it has moved on whenever it is read. */
  class RunningClock extends VirtualClock {
    override now(): number {
      this.advance(0.001);
      return super.now();
    }
  }

  it('is nothing for who finds a place at once, while others wait too', () => {
    const pool = new Pool(policy, new RunningClock(), () => 0.5);
    pool.setEndpoints(['10.0.0.1:80']);
    const { leases, listener } = new Outcomes();
    for (const band of [1, 1, 1, 0]) pool.enqueue(asked(band), listener);
    expect(pool.depth(1)).toBe(1);
    expect(leases.map(({ waitedMs }) => waitedMs)).toEqual([0, 0, 0]);
  });
});

describe('Pool: endpoints that refuse connections', () => {
  const world = (...endpoints: string[]) => {
    const clock = new VirtualClock();
    const pool = new Pool({ ...policy, limit: 2 }, clock, () => 0.5);
    pool.setEndpoints(endpoints);
    return { clock, pool, outcomes: new Outcomes() };
  };

  it('are tried all the same where there is no other: everybody learns at once that it is gone', () => {
    const { pool, outcomes } = world('10.0.0.1:80');
    const { leases, listener } = outcomes;
    for (let i = 0; i < 6; i += 1) pool.enqueue(asked(), listener);
    for (let i = 0; i < 6; i += 1) expect(leases[i]?.refused(listener)).toBeUndefined();
    expect([leases.length, pool.inUse, pool.depth(0)]).toEqual([6, 0, 0]);
    pool.enqueue(asked(), listener);
    expect(leases).toHaveLength(7);
  });

  it('are left alone for a while where another one serves', () => {
    const { clock, pool, outcomes } = world('10.0.0.1:80', '10.0.0.2:80');
    const { leases, listener } = outcomes;
    pool.enqueue(asked(), listener);
    expect(leases[0]?.refused(listener)).toBeDefined();
    pool.enqueue(asked(), listener);
    expect(leases.map(({ endpoint }) => endpoint)).toEqual(['10.0.0.1:80', '10.0.0.2:80', '10.0.0.2:80']);
    leases[2]?.release();
    clock.advance(5001);
    pool.enqueue(asked(), listener);
    expect(leases[3]?.endpoint).toBe('10.0.0.1:80');
  });
});

describe('Pool: a strict reserve', () => {
  it('keeps lower bands on one endpoint while the highest one is about, though the other be idle', () => {
    const clock = new VirtualClock();
    const patient = policy.bands.map((band) => ({ ...band, ttlMs: 600_000 }));
    const pool = new Pool({ ...policy, strictReserve: true, bands: patient }, clock, () => 0.5);
    pool.setEndpoints(['10.0.0.1:80', '10.0.0.2:80']);
    const bronze = new Outcomes();
    const gold = new Outcomes();
    const endpoints = ({ leases }: Outcomes): string[] => leases.map(({ endpoint }) => endpoint);
    pool.enqueue(asked(0), gold.listener);
    gold.leases[0]?.release();
    for (let i = 0; i < 6; i += 1) pool.enqueue(asked(1), bronze.listener);
    expect(endpoints(bronze)).toEqual(['10.0.0.1:80', '10.0.0.1:80']);
    pool.enqueue(asked(0), gold.listener);
    expect(endpoints(gold)[1]).toBe('10.0.0.2:80');
    gold.leases[1]?.release();
    clock.advance(301_000);
    expect(endpoints(bronze)).toContain('10.0.0.2:80');
  });
});

describe('Pool: a drain that may last no longer', () => {
  it('turns those away too that have been sent something', () => {
    const pool = new Pool({ ...policy, limit: 1 }, new VirtualClock(), () => 0.5);
    pool.setEndpoints(['10.0.0.1:80']);
    const { refusals, listener } = new Outcomes();
    for (let i = 0; i < 3; i += 1) pool.enqueue(asked(), { ...listener, committed: () => true });
    pool.drain();
    expect([refusals, pool.depth(0)]).toEqual([[], 2]);
    pool.endDrain();
    expect([refusals, pool.depth(0)]).toEqual([['draining', 'draining'], 0]);
  });
});

describe('Pool: a request that needs much room at once', () => {
  /** As many small ones wait as before whenever one has been granted: each place is taken as soon as it frees. */
  class Crowd {
    readonly leases: Lease[] = [];

    constructor(
      private readonly pool: Pool,
      private readonly request: PoolRequest,
    ) {}

    join(): void {
      this.pool.enqueue(this.request, {
        granted: (lease) => {
          this.leases.push(lease);
          this.join();
        },
        refused: () => undefined,
      });
    }

    /** The oldest one ends. */
    endOne(): void {
      this.leases.shift()?.release();
    }
  }

  const several = (places: number, band = 0): PoolRequest => ({ ...asked(band, 'wide'), places });

  it.each([
    ['of its own band, on one endpoint', 0, 1],
    ['of its own band, on two endpoints', 0, 2],
    ['of a lower band', 1, 2],
  ])('is not passed by smaller ones for ever: %s', (_, band, endpoints) => {
    const pool = new Pool(policy, new VirtualClock(), () => 0.5);
    pool.setEndpoints(['10.0.0.1:80', '10.0.0.2:80'].slice(0, endpoints));
    const crowd = new Crowd(pool, asked(band));
    for (let i = 0; i < 4; i += 1) crowd.join();
    const wide = new Outcomes();
    pool.enqueue(several(4), wide.listener);
    for (let ends = 0; ends < 8; ends += 1) crowd.endOne();
    expect(wide.leases).toHaveLength(1);
    const served = crowd.leases.length;
    wide.leases[0]?.release();
    expect(crowd.leases.length).toBeGreaterThan(served);
  });

  it('is not passed for ever where the upstream takes fewer at once than it needs', () => {
    const pool = new Pool({ ...policy, limit: 3 }, new VirtualClock(), () => 0.5);
    pool.setEndpoints(['10.0.0.1:80', '10.0.0.2:80']);
    const crowd = new Crowd(pool, asked());
    for (let i = 0; i < 3; i += 1) crowd.join();
    const wide = new Outcomes();
    pool.enqueue(several(4), wide.listener);
    for (let ends = 0; ends < 6; ends += 1) crowd.endOne();
    expect(wide.leases).toHaveLength(1);
  });

  it('is not passed for ever by small ones of a lower band where it is memory that it needs', () => {
    const gauges = { kvCeiling: 0.9, maxInflight: 4, maxParkMs: 120_000 };
    const pool = new Pool({ ...policy, generates: true, gauges }, new VirtualClock(), () => 0.5);
    pool.setEndpoints(['10.0.0.1:80']);
    pool.read('10.0.0.1:80', { running: 0, waiting: 0, kvUsage: 0, kvCapacityTokens: 4_000, takenAtMs: 0 });
    const crowd = new Crowd(pool, { ...asked(1), outputTokens: 500 });
    for (let i = 0; i < 3; i += 1) crowd.join();
    const large = new Outcomes();
    pool.enqueue({ ...asked(0, 'large'), outputTokens: 3_400 }, large.listener);
    for (let ends = 0; ends < 6; ends += 1) crowd.endOne();
    expect(large.leases).toHaveLength(1);
  });

  it('keeps no room when it has left, nor from a band above', () => {
    const pool = new Pool(policy, new VirtualClock(), () => 0.5);
    pool.setEndpoints(['10.0.0.1:80']);
    const low = new Crowd(pool, asked(1));
    for (let i = 0; i < 2; i += 1) low.join();
    const wide = new Outcomes();
    const ticket = pool.enqueue(several(2, 1), wide.listener);
    low.endOne();
    expect(low.leases).toHaveLength(1);
    const high = new Outcomes();
    pool.enqueue(asked(0), high.listener);
    expect(high.leases).toHaveLength(1);
    high.leases[0]?.release();
    ticket.cancel();
    expect([wide.leases.length, low.leases.length]).toEqual([0, 2]);
  });

  it('has room kept on another endpoint where the one that was kept goes down', () => {
    const pool = new Pool(policy, new VirtualClock(), () => 0.5);
    pool.setEndpoints(['10.0.0.1:80', '10.0.0.2:80']);
    const crowd = new Crowd(pool, asked());
    for (let i = 0; i < 2; i += 1) crowd.join();
    const wide = new Outcomes();
    pool.enqueue(several(4), wide.listener);
    pool.setEndpoints(['10.0.0.2:80']);
    for (let ends = 0; ends < 16; ends += 1) crowd.endOne();
    expect(wide.leases.map(({ endpoint }) => endpoint)).toEqual(['10.0.0.2:80']);
  });
});
