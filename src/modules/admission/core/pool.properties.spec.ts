import fc from 'fast-check';
import { FakeClock as VirtualClock } from '../../../../test/support/fake-clock.js';
import { Pool } from './pool.js';
import type { GaugeReading, Lease, PoolPolicy, PoolRequest, Refusal, Ticket } from './pool-types.js';
import { virtualCost } from './virtual-cost.js';

const policy: PoolPolicy = {
  name: 'reasoning',
  bands: [
    { name: 'platinum', ceiling: 1, capacity: 6, ttlMs: 20_000 },
    { name: 'gold', ceiling: 0.9, capacity: 8, ttlMs: 40_000 },
    { name: 'bronze', ceiling: 0.75, capacity: 10, ttlMs: 60_000 },
  ],
  defaultBand: 1,
  limit: 7,
  slotsPerEndpoint: 4,
  retryAfterMs: 5000,
  strictReserve: false,
  generates: true,
  gauges: { kvCeiling: 0.9, maxInflight: 4, maxParkMs: 120_000 },
};
const ENDPOINTS = ['10.0.0.1:80', '10.0.0.2:80'];
const KV_TOKENS = 152_432;

type Act =
  | { kind: 'ask'; band: number; tenant: string; prompt: number; output: number; places: number; stream: boolean }
  | { kind: 'first' | 'end' | 'fail' | 'refuse' | 'cancel'; at: number }
  | { kind: 'wait'; ms: number }
  | { kind: 'read'; endpoint: number; running: number; waiting: number; kv: number; boot: number }
  | { kind: 'stale'; endpoint: number };

const acts: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('ask' as const),
      band: fc.nat(2),
      tenant: fc.constantFrom('a', 'b', 'c', 'd'),
      prompt: fc.constantFrom(10, 300, 2000, 8000, 30_000, 65_000),
      output: fc.constantFrom(10, 300, 2000),
      places: fc.constantFrom(1, 1, 1, 2, 4),
      stream: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('first' as const, 'end' as const, 'fail' as const, 'refuse' as const, 'cancel' as const),
      at: fc.nat(30),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 100, 1000, 10_000, 70_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      endpoint: fc.nat(1),
      running: fc.nat(5),
      waiting: fc.nat(3),
      kv: fc.double({ min: 0, max: 1, noNaN: true }),
      boot: fc.nat(1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('stale' as const), endpoint: fc.nat(1) }) },
);

interface Asked {
  readonly request: PoolRequest;
  since: number;
  ticket: Ticket | undefined;
  lease: Lease | undefined;
  ends: (Refusal | 'cancelled' | 'served')[];
}

const isSettled = ({ lease, ends }: Asked): boolean => lease !== undefined || ends.length > 0;

/** A pool, all that was asked of it, and what has become of that. */
class World {
  readonly clock = new VirtualClock();
  readonly pool: Pool;
  readonly asked: Asked[] = [];

  constructor(of: PoolPolicy = policy) {
    this.pool = new Pool(of, this.clock, () => 0.5);
    this.pool.setEndpoints(ENDPOINTS);
  }

  ask(request: PoolRequest): Asked {
    const one: Asked = { request, since: this.clock.now(), ticket: undefined, lease: undefined, ends: [] };
    this.asked.push(one);
    const ticket = this.pool.enqueue(request, this.listenerOf(one));
    if (!isSettled(one)) one.ticket = ticket;
    return one;
  }

  listenerOf(one: Asked) {
    return {
      granted: (lease: Lease) => {
        expect(one.lease).toBeUndefined();
        one.lease = lease;
        one.ticket = undefined;
      },
      refused: (refusal: Refusal, retryAfterSeconds: number) => {
        expect(retryAfterSeconds).toBeGreaterThanOrEqual(5);
        expect(retryAfterSeconds).toBeLessThanOrEqual(60);
        one.ends.push(refusal);
        one.ticket = undefined;
      },
    };
  }

  get running(): Asked[] {
    return this.asked.filter(({ lease }) => lease !== undefined);
  }

  get waiting(): Asked[] {
    return this.asked.filter(({ ticket }) => ticket !== undefined);
  }

  end(one: Asked, how: 'end' | 'fail'): void {
    const { lease } = one;
    if (lease === undefined) return;
    one.lease = undefined;
    one.ends.push('served');
    if (how === 'end') lease.settle(one.request.promptTokens, one.request.outputTokens);
    lease.release();
    lease.release();
  }

  /** The endpoint refuses the connection; what it waits from here on is a new wait. */
  refuse(one: Asked): void {
    const { lease } = one;
    if (lease === undefined) return;
    one.lease = undefined;
    one.since = this.clock.now();
    const again = lease.refused(this.listenerOf(one));
    if (again === undefined) one.ends.push('upstream-unreachable');
    else if (!isSettled(one)) one.ticket = again;
  }

  cancel(one: Asked): void {
    one.ticket?.cancel();
    one.ticket = undefined;
    one.ends.push('cancelled');
  }

  read(id: string, gauges: Partial<GaugeReading>): void {
    this.pool.read(id, {
      running: 0,
      waiting: 0,
      kvUsage: 0,
      kvCapacityTokens: KV_TOKENS,
      bootId: 'a',
      takenAtMs: this.clock.now(),
      ...gauges,
    });
  }

  do(act: Act): void {
    if (act.kind === 'wait') this.clock.advance(act.ms);
    else if (act.kind === 'stale') this.pool.read(ENDPOINTS[act.endpoint] ?? '', undefined);
    else if (act.kind === 'read') {
      const { running, waiting, kv, boot } = act;
      this.read(ENDPOINTS[act.endpoint] ?? '', { running, waiting, kvUsage: kv, bootId: String(boot) });
    } else if (act.kind === 'ask') {
      const { tenant, band, places, prompt, output, stream } = act;
      this.ask({
        tenant,
        band,
        places,
        promptTokens: prompt,
        cachedTokens: 0,
        outputTokens: output,
        stretchable: stream,
      });
    } else this.doToOne(act.kind, act.at);
  }

  doToOne(kind: 'first' | 'end' | 'fail' | 'refuse' | 'cancel', at: number): void {
    const from = kind === 'cancel' ? this.waiting : this.running;
    const one = from[at % Math.max(1, from.length)];
    if (one === undefined) return;
    if (kind === 'cancel') this.cancel(one);
    else if (kind === 'refuse') this.refuse(one);
    else if (kind === 'first') one.lease?.firstToken();
    else this.end(one, kind);
  }

  check(): void {
    const { pool, running } = this;
    for (const ledger of pool.endpoints.values()) {
      const own = running.filter(({ lease }) => lease?.endpoint === ledger.id);
      expect(ledger.leases.size).toBe(own.length);
      expect(ledger.places).toBe(own.reduce((sum, { request }) => sum + request.places, 0));
      const leases = [...ledger.leases];
      expect(ledger.kvReserved).toBe(leases.reduce((sum, { kvTokens }) => sum + kvTokens, 0));
      const prefills = leases.filter(({ firstTokenAt }) => firstTokenAt === undefined);
      expect(ledger.prefills).toBe(prefills.length);
      expect(ledger.prefillEstimateMs).toBeCloseTo(
        prefills.reduce((sum, { estimateMs }) => sum + estimateMs, 0),
        3,
      );
      expect(ledger.occupied()).toBeGreaterThanOrEqual(ledger.places);
      expect(ledger.backlogMs(this.clock.now())).toBeGreaterThanOrEqual(0);
      // Never above the whole batch, but for one request that was alone when it was let in.
      if (ledger.leases.size > 1) expect(ledger.places).toBeLessThanOrEqual(ledger.slots);
    }
    expect(pool.inUse).toBe(running.reduce((sum, { request }) => sum + request.places, 0));
    if (running.length > 1) expect(pool.inUse).toBeLessThanOrEqual(policy.limit);
    policy.bands.forEach((_, band) =>
      expect(pool.depth(band)).toBe(this.waiting.filter(({ request }) => request.band === band).length),
    );
    for (const one of this.asked)
      expect(one.ends.length + (one.ticket === undefined ? 0 : 1) + (one.lease === undefined ? 0 : 1)).toBe(1);
  }
}

const schedule = fc.array(acts, { minLength: 1, maxLength: 90 });

describe('Pool, under any schedule', () => {
  it('ends every request once, recounts to the same, overruns nothing and leaks nothing', () => {
    fc.assert(
      fc.property(schedule, (sequence) => {
        const world = new World();
        for (const act of sequence) {
          world.do(act);
          world.check();
        }
        for (const one of world.running) world.end(one, 'end');
        world.clock.advance(400_000);
        for (let i = 0; i < 100 && world.running.length > 0; i += 1)
          for (const one of world.running) world.end(one, 'end');
        expect(world.running).toEqual([]);
        expect(world.waiting).toEqual([]);
        expect(world.clock.timers).toBe(0);
        expect([...world.pool.endpoints.values()].map(({ places, kvReserved }) => [places, kvReserved])).toEqual([
          [0, 0],
          [0, 0],
        ]);
      }),
      { numRuns: 400 },
    );
  });

  it('keeps nobody beyond its patience and one tick', () => {
    fc.assert(
      fc.property(schedule, (sequence) => {
        const world = new World();
        for (const act of sequence) {
          world.do(act);
          const now = world.clock.now();
          for (const { request, since } of world.waiting) {
            const most = (policy.bands[request.band]?.ttlMs ?? 0) * (request.stretchable ? 6 : 1);
            expect(now - since).toBeLessThanOrEqual(most + 250);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it('lets no engine idle while somebody waits: something is granted within a tick, a long prompt within a minute', () => {
    fc.assert(
      fc.property(schedule, (sequence) => {
        const world = new World();
        for (const act of sequence) world.do(act);
        for (const one of world.running) world.end(one, 'end');
        for (const id of ENDPOINTS) world.pool.read(id, undefined);
        world.clock.advance(5300);
        if (world.waiting.length > 0) {
          world.clock.advance(world.waiting.every(({ request }) => request.promptTokens > 10_000) ? 60_000 : 250);
          expect(world.running.length).toBeGreaterThan(0);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is deterministic, and does not depend on the order in which endpoints are named', () => {
    const outcome = (sequence: readonly Act[], endpoints: readonly string[]): string => {
      const world = new World();
      world.pool.setEndpoints(endpoints);
      for (const act of sequence) world.do(act);
      return JSON.stringify(
        world.asked.map(({ ends, lease, ticket }) => [ends, lease?.endpoint, ticket !== undefined]),
      );
    };
    fc.assert(
      fc.property(schedule, (sequence) => {
        expect(outcome(sequence, [...ENDPOINTS].reverse())).toBe(outcome(sequence, ENDPOINTS));
      }),
      { numRuns: 150 },
    );
  });

  it('a lower band never takes a place above its ceiling', () => {
    fc.assert(
      fc.property(schedule, (sequence) => {
        const world = new World();
        for (const act of sequence) {
          const before = new Set(world.running);
          world.do(act);
          for (const one of world.running) {
            if (before.has(one) || one.lease === undefined) continue;
            const ledger = world.pool.endpoints.get(one.lease.endpoint);
            const share = Math.floor((policy.bands[one.request.band]?.ceiling ?? 0) * 4 + 1e-9);
            const alone = ledger?.leases.size === 1;
            // A band that has starved may see the whole batch, once.
            if (!alone && world.clock.now() < 30_000)
              expect(ledger?.places).toBeLessThanOrEqual(Math.max(share, 0) + placesAfter(world, one));
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** Places at the same endpoint that were granted after this one in the same step. */
function placesAfter(world: World, one: Asked): number {
  const later = world.running.slice(world.running.indexOf(one) + 1);
  return later
    .filter(({ lease }) => lease?.endpoint === one.lease?.endpoint)
    .reduce((sum, { request }) => sum + request.places, 0);
}

/** What a tenant's requests have cost that ran to their end, in token equivalents. */
const serviceOf = (world: World, tenant: string): number =>
  world.asked
    .filter(({ request, ends }) => request.tenant === tenant && ends.includes('served'))
    .reduce((sum, { request }) => sum + virtualCost(request.promptTokens, request.outputTokens), 0);

describe('Pool', () => {
  const small = (tenant: string, band = 1): PoolRequest => ({
    tenant,
    band,
    places: 1,
    promptTokens: 100,
    cachedTokens: 0,
    outputTokens: 50,
    stretchable: false,
  });

  it('gives two backlogged tenants the same service, whatever the size and number of their requests', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 32 }), fc.integer({ min: 100, max: 3000 }), (times, prompt) => {
        const world = new World({
          ...policy,
          generates: false,
          limit: 2,
          bands: policy.bands.map((band) => ({ ...band, capacity: 1e6, ttlMs: 1e9 })),
        });
        for (let i = 0; i < 400; i += 1) {
          world.ask({ ...small('loud'), promptTokens: prompt });
          if (i % times === 0 || i < 60) world.ask(small('quiet'));
          for (const one of world.running) world.end(one, 'end');
        }
        const behind = Math.abs(serviceOf(world, 'loud') - serviceOf(world, 'quiet'));
        const waits = new Set(world.waiting.map(({ request }) => request.tenant));
        if (waits.size === 2)
          expect(behind).toBeLessThanOrEqual(2 * (prompt + (prompt * prompt) / 48_000 + 200) + 20_000);
      }),
      { numRuns: 50 },
    );
  });

  it('counts what it has granted since the last reading: a burst does not pass en masse', () => {
    const world = new World();
    for (const id of ENDPOINTS) world.read(id, { running: 0, waiting: 0, kvUsage: 0 });
    for (let i = 0; i < 8; i += 1) world.ask(small(`t${i}`));
    expect(world.running).toHaveLength(6);
  });

  it('holds for traffic that goes past it, and tells when it was the gauges alone', () => {
    const world = new World();
    for (const id of ENDPOINTS) world.read(id, { running: 4, waiting: 3, kvUsage: 0.5 });
    const one = world.ask({ ...small('a', 2) });
    expect(one.lease).toBeUndefined();
    world.clock.advance(59_000);
    expect(one.ends).toEqual([]);
    expect([...world.pool.held.keys()]).toEqual(['max_inflight']);
  });

  it('sheds a head that nothing but the gauges has held for maxPark', () => {
    const world = new World({ ...policy, gauges: { kvCeiling: 0.9, maxInflight: 4, maxParkMs: 10_000 } });
    for (const id of ENDPOINTS) world.read(id, { running: 2, waiting: 0, kvUsage: 0.95 });
    const one = world.ask(small('a'));
    world.clock.advance(10_500);
    expect(one.ends).toEqual(['engine-saturated']);
  });

  it('opens the gate when the gauges are gone, and keeps its own count', () => {
    const world = new World();
    for (const id of ENDPOINTS) world.read(id, { running: 4, waiting: 9, kvUsage: 0.99 });
    for (let i = 0; i < 8; i += 1) world.ask(small(`t${i}`));
    expect(world.running).toHaveLength(0);
    for (const id of ENDPOINTS) world.pool.read(id, undefined);
    expect(world.running).toHaveLength(6);
  });

  it('starts slowly after the engine has restarted', () => {
    const world = new World();
    const read = (id: string, bootId: string): void => {
      world.read(id, { bootId });
    };
    for (const id of ENDPOINTS) read(id, 'a');
    world.clock.advance(2000);
    for (const id of ENDPOINTS) read(id, 'b');
    for (let i = 0; i < 8; i += 1) world.ask(small(`t${i}`));
    expect(world.running).toHaveLength(2);
    world.clock.advance(2000);
    for (const id of ENDPOINTS) read(id, 'b');
    expect(world.running).toHaveLength(4);
  });

  it('limits long prefills to one at a time on one endpoint, so that short requests keep flowing', () => {
    const world = new World();
    for (let i = 0; i < 3; i += 1) world.ask({ ...small(`long${i}`), promptTokens: 65_000, stretchable: true });
    world.clock.advance(61_000);
    expect(world.running).toHaveLength(1);
    expect(world.running[0]?.lease?.endpoint).toBe(ENDPOINTS[0]);
    world.ask(small('chat'));
    expect(world.running.at(-1)?.lease?.endpoint).toBe(ENDPOINTS[1]);
  });

  it('sends a refused request to another endpoint, in front of those that wait', () => {
    const world = new World({ ...policy, limit: 2 });
    const first = world.ask(small('a'));
    world.ask(small('b'));
    const queued = world.ask(small('c'));
    world.do({ kind: 'refuse', at: 0 });
    expect(first.lease).toBeDefined();
    expect(queued.lease).toBeUndefined();
  });

  it('owns no timer while nobody waits', () => {
    const world = new World();
    const one = world.ask(small('a'));
    expect(world.clock.timers).toBe(0);
    world.end(one, 'end');
    expect(world.clock.timers).toBe(0);
  });
});
