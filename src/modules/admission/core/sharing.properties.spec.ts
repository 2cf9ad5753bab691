import fc from 'fast-check';
import { FakeClock } from '../../../../test/support/fake-clock.js';
import type { Clock } from '../../../common/clock.js';
import { MemoryClaims } from './memory-claims.js';
import { Pool } from './pool.js';
import type { Lease, PoolPolicy, PoolRequest, Refusal, Ticket } from './pool-types.js';
import type { Claim, ClaimStore } from './shared-ledger.js';
import type { PoolSharing } from './sharing.js';

const GATEWAYS = [0, 1, 2] as const;
const ENDPOINTS = ['http://e0', 'http://e1'] as const;
const SLOTS = 4;
const LIMIT = 7;
const READ_MS = 1000;
const SILENT_MS = 3000;
const LEASE_MS = 15_000;

const MODES = ['none', 'peers', 'exact', 'exact, answered later', 'exact, comes and goes'] as const;
type Mode = (typeof MODES)[number];

const policy: PoolPolicy = {
  name: 'engines',
  bands: [
    { name: 'gold', ceiling: 1, capacity: 50, ttlMs: 120_000 },
    { name: 'bronze', ceiling: 0.75, capacity: 50, ttlMs: 120_000 },
  ],
  defaultBand: 0,
  limit: LIMIT,
  slotsPerEndpoint: SLOTS,
  retryAfterMs: 5000,
  strictReserve: false,
  generates: true,
  gauges: { kvCeiling: 0.9, maxInflight: SLOTS, maxParkMs: 60_000 },
};

/** Counts places for all, and answers at once, or when it is told to. */
class Store {
  readonly #book = new MemoryClaims();
  readonly #held = new Set<string>();
  #unanswered: (() => void)[] = [];

  constructor(private readonly later: boolean) {}

  get size(): number {
    return this.#held.size;
  }

  claim(claim: Claim): boolean | Promise<boolean> {
    if (!this.later) return this.#decide(claim);
    return new Promise((resolve) => this.#unanswered.push(() => resolve(this.#decide(claim))));
  }

  release(id: string): void {
    this.#book.release(id);
    this.#held.delete(id);
  }

  answer(): void {
    const unanswered = this.#unanswered;
    this.#unanswered = [];
    for (const answer of unanswered) answer();
  }

  /** Its leases have run out. */
  forget(epoch: string): void {
    for (const id of [...this.#held]) if (id.startsWith(`${epoch}.`)) this.release(id);
  }

  /** A lease that was taken without it is told to it. */
  register(claim: Claim): void {
    this.#decide({ ...claim, endpointPlaces: Infinity, poolPlaces: Infinity, endpointKvTokens: Infinity });
  }

  #decide(claim: Claim): boolean {
    const taken = this.#book.claim(claim);
    if (taken) this.#held.add(claim.id);
    return taken;
  }
}

/** One gateway's way to the store: it may be cut, and what has happened meanwhile is told when it is mended. */
class Line implements ClaimStore {
  up = true;
  countsFrom = -Infinity;
  readonly #unknown = new Map<string, Claim>();
  #parked: string[] = [];

  constructor(private readonly store: Store) {}

  claim(claim: Claim): boolean | Promise<boolean> {
    if (this.up) return this.store.claim(claim);
    this.#unknown.set(claim.id, claim);
    return true;
  }

  release(id: string): void {
    if (this.#unknown.delete(id)) return;
    if (this.up) this.store.release(id);
    else this.#parked.push(id);
  }

  mend(): void {
    this.up = true;
    for (const claim of this.#unknown.values()) this.store.register(claim);
    for (const id of this.#parked) this.store.release(id);
    this.#unknown.clear();
    this.#parked = [];
  }
}

interface Asked {
  readonly gateway: number;
  readonly places: number;
  ticket: Ticket | undefined;
  lease: Lease | undefined;
  ends: (Refusal | 'served' | 'cancelled')[];
}

class World {
  readonly clock = new FakeClock();
  readonly store: Store;
  readonly lines: readonly Line[];
  readonly pools: readonly Pool[];
  readonly gone = new Set<number>();
  readonly asked: Asked[] = [];
  readonly #changed = new Set<number>();

  constructor(private readonly mode: Mode) {
    this.store = new Store(mode === 'exact, answered later');
    this.lines = GATEWAYS.map(() => new Line(this.store));
    this.pools = GATEWAYS.map((at) => this.#poolOf(at));
    for (const pool of this.pools) pool.setEndpoints(ENDPOINTS);
    if (mode === 'peers') for (const at of GATEWAYS) this.#readAgain(at);
  }

  get isExact(): boolean {
    return this.mode.startsWith('exact');
  }

  ask(gateway: number, request: PoolRequest): void {
    const one: Asked = { gateway, places: request.places, ticket: undefined, lease: undefined, ends: [] };
    this.asked.push(one);
    const pool = this.pools[gateway];
    if (pool === undefined || this.gone.has(gateway)) return void one.ends.push('cancelled');
    const ticket = pool.enqueue(request, {
      granted: (lease) => {
        expect([one.lease, one.ends]).toEqual([undefined, []]);
        [one.lease, one.ticket] = [lease, undefined];
      },
      refused: (refusal) => {
        one.ends.push(refusal);
        one.ticket = undefined;
      },
    });
    if (one.lease === undefined && one.ends.length === 0) one.ticket = ticket;
  }

  get running(): readonly Asked[] {
    return this.asked.filter(({ lease }) => lease !== undefined);
  }

  get waiting(): readonly Asked[] {
    return this.asked.filter(({ ticket }) => ticket !== undefined);
  }

  end(one: Asked): void {
    const { lease } = one;
    one.lease = undefined;
    one.ends.push('served');
    lease?.release();
    lease?.release();
  }

  cancel(one: Asked): void {
    one.ticket?.cancel();
    one.ticket?.cancel();
    one.ticket = undefined;
    one.ends.push('cancelled');
  }

  /** All that run at an endpoint, whoever let them in. */
  placesAt(endpoint: string): number {
    const here = this.running.filter(({ lease }) => lease?.endpoint === endpoint);
    return here.reduce((sum, { places }) => sum + places, 0);
  }

  /** All gateways read the gauges of the engines. */
  read(): void {
    for (const id of ENDPOINTS) {
      const reading = { running: this.placesAt(id), waiting: 0, kvUsage: 0, kvCapacityTokens: 152_432, bootId: 'a' };
      for (const pool of this.alive()) pool.read(id, { ...reading, takenAtMs: this.clock.now() });
    }
  }

  /** A gateway dies with all that it holds; the others hear of it when its time is over. */
  vanish(gateway: number): void {
    if (this.gone.size > 0) return;
    this.gone.add(gateway);
    for (const one of this.asked.filter((of) => of.gateway === gateway && of.ends.length === 0)) {
      one.lease = undefined;
      one.ticket = undefined;
      one.ends.push('cancelled');
    }
    this.clock.after(SILENT_MS, () => {
      for (const pool of this.alive()) pool.remote(`g${gateway}`, undefined);
    });
    this.clock.after(LEASE_MS, () => this.store.forget(`g${gateway}`));
  }

  /** The store comes or goes, for one gateway. */
  turn(gateway: number): void {
    const line = this.lines[gateway];
    if (this.mode !== 'exact, comes and goes' || line === undefined || this.gone.has(gateway)) return;
    if (line.up) line.up = false;
    else {
      line.mend();
      // Everybody says once a second that it is there.
      for (const at of GATEWAYS) this.#changed.add(at);
      line.countsFrom = this.clock.now() + 1500;
      this.clock.after(1500, () => this.pools[gateway]?.sharingChanged());
    }
    this.pools[gateway]?.sharingChanged();
  }

  /** Until nothing happens any more by itself. */
  async settle(): Promise<void> {
    for (let round = 0; round < 20; round += 1) {
      this.store.answer();
      await Promise.resolve();
      await Promise.resolve();
      this.#tell();
    }
  }

  alive(): readonly Pool[] {
    return this.pools.filter((_, at) => !this.gone.has(at));
  }

  #poolOf(at: number): Pool {
    // With its gateway its timers die.
    const clock: Clock = {
      now: () => this.clock.now(),
      after: (ms, then) => this.clock.after(ms, () => (this.gone.has(at) ? undefined : then())),
    };
    const [store] = this.lines.slice(at);
    if (store === undefined) throw new Error('no line');
    const common: PoolSharing = {
      index: at,
      gateways: GATEWAYS.length,
      epoch: `g${at}`,
      readEveryMs: READ_MS,
      wallTime: () => this.clock.now(),
      tenantKey: (tenant) => `#${tenant}`,
      told: () => this.mode === 'peers' && this.gone.size === 0,
      live: () => this.isExact && store.up && this.clock.now() >= store.countsFrom,
    };
    const exact = { ...common, store, changed: () => void this.#changed.add(at) };
    return new Pool(policy, clock, () => 0.5, this.isExact ? exact : common);
  }

  /** Whoever has lost the store tells nobody. */
  #tell(): void {
    for (const at of [...this.#changed]) {
      this.#changed.delete(at);
      if (this.gone.has(at) || this.lines[at]?.up === false) continue;
      const ledger = this.pools[at]?.shared(this.clock.now());
      for (const [other, pool] of this.pools.entries())
        if (other !== at && !this.gone.has(other) && this.lines[other]?.up === true) pool.remote(`g${at}`, ledger);
    }
  }

  #readAgain(at: number): void {
    if (this.gone.has(at)) return;
    for (const [other, pool] of this.pools.entries())
      if (other !== at && !this.gone.has(other)) this.pools[at]?.remote(`g${other}`, pool.shared(this.clock.now()));
    this.pools[at]?.afterNews();
    this.clock.after(READ_MS, () => this.#readAgain(at));
  }
}

const asks = fc.record({
  kind: fc.constant('ask' as const),
  gateway: fc.nat(2),
  tenant: fc.constantFrom('a', 'b', 'c'),
  band: fc.nat(1),
  places: fc.constantFrom(1, 1, 1, 1, 2, 4),
  prompt: fc.constantFrom(200, 1000, 6000, 30_000),
});
const acts = fc.oneof(
  { weight: 10, arbitrary: asks },
  {
    weight: 7,
    arbitrary: fc.record({
      kind: fc.constantFrom('end' as const, 'first' as const, 'cancel' as const),
      at: fc.nat(20),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(50, 1000, 5000, 20_000) }),
  },
  { weight: 3, arbitrary: fc.constant({ kind: 'read' as const }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('turn' as const), gateway: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('vanish' as const), gateway: fc.nat(2) }) },
);
type Act = typeof acts extends fc.Arbitrary<infer T> ? T : never;

function perform(world: World, act: Act): void {
  if (act.kind === 'wait') world.clock.advance(act.ms);
  else if (act.kind === 'read') world.read();
  else if (act.kind === 'turn') world.turn(act.gateway);
  else if (act.kind === 'vanish') world.vanish(act.gateway);
  else if (act.kind === 'ask') {
    const { gateway, tenant, band, places, prompt } = act;
    const size = { promptTokens: prompt, cachedTokens: 0, outputTokens: 100 };
    world.ask(gateway, { tenant, band, places, ...size, stretchable: true });
  } else touch(world, act.kind, act.at);
}

function touch(world: World, how: 'end' | 'first' | 'cancel', at: number): void {
  const from = how === 'cancel' ? world.waiting : world.running;
  const one = from[at % Math.max(1, from.length)];
  if (one === undefined) return;
  if (how === 'cancel') world.cancel(one);
  else if (how === 'end') world.end(one);
  else one.lease?.firstToken();
}

const schedule = fc.array(acts, { minLength: 5, maxLength: 80 });

function checkBooks(world: World): void {
  for (const { ends, ticket, lease } of world.asked)
    expect(ends.length + (ticket === undefined ? 0 : 1) + (lease === undefined ? 0 : 1)).toBe(1);
  for (const pool of world.alive())
    for (const ledger of pool.endpoints.values()) {
      const counts = [ledger.ownPlaces, ledger.places - ledger.ownPlaces, ledger.gaugedPlaces() ?? 0];
      expect(Math.min(...counts)).toBeGreaterThanOrEqual(0);
      expect(ledger.occupied()).toBeGreaterThanOrEqual(ledger.ownPlaces);
    }
}

/** Everything comes to its end. */
async function runDown(world: World): Promise<void> {
  for (const [gateway, { up }] of world.lines.entries()) if (!up) world.turn(gateway);
  for (let round = 0; round < 200 && world.running.length + world.waiting.length > 0; round += 1) {
    for (const one of world.running) world.end(one);
    world.clock.advance(5000);
    world.read();
    await world.settle();
  }
  world.clock.advance(LEASE_MS + 1000);
  await world.settle();
}

describe.each(MODES)('three pools on one upstream: %s', (mode) => {
  it('end every request once, count what each holds, give everything back, and keep nothing of one that is gone', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async (sequence) => {
        const world = new World(mode);
        for (const act of sequence) {
          perform(world, act);
          await world.settle();
          checkBooks(world);
        }
        await runDown(world);
        expect(world.waiting).toEqual([]);
        expect(world.asked.some(({ ends }) => ends.includes('queue-timeout') && mode !== 'none')).toBe(false);
        // A gateway that went without the store has told nobody that it holds nothing: its last lease was its end.
        if (world.gone.size === 0) expect(world.store.size).toBe(0);
        for (const pool of world.alive())
          for (const { places, ownPlaces, kvReserved, prefills, leases } of pool.endpoints.values())
            expect([places, ownPlaces, kvReserved, prefills, leases.size]).toEqual([0, 0, 0, 0, 0]);
      }),
      { numRuns: 80 },
    );
  });
});

describe.each(['exact', 'exact, answered later'] as const)('three pools on one upstream: %s', (mode) => {
  it('never hold more than the limits, but for one request that is alone on an endpoint', async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async (sequence) => {
        const world = new World(mode);
        for (const act of sequence) {
          perform(world, act);
          await world.settle();
          const all = world.running.reduce((sum, { places }) => sum + places, 0);
          expect(all).toBeLessThanOrEqual(LIMIT);
          for (const id of ENDPOINTS) expect(world.placesAt(id)).toBeLessThanOrEqual(SLOTS);
          // The store has a lease for each that runs; those of a gateway that is gone last for a while.
          expect(world.store.size).toBeGreaterThanOrEqual(world.running.length);
        }
      }),
      { numRuns: 150 },
    );
  });
});

const light = (tenant: string): PoolRequest => ({
  ...{ tenant, band: 0, places: 1, promptTokens: 100 },
  ...{ cachedTokens: 0, outputTokens: 50, stretchable: false },
});
const burst = fc.array(fc.record({ gateway: fc.nat(2), tenant: fc.constantFrom('a', 'b') }), { maxLength: 40 });
const bursts = fc.array(burst, { minLength: 1, maxLength: 8 });

describe('three pools that tell each other nothing', () => {
  it('let in what was free, and what is guaranteed to each, between two readings', () => {
    fc.assert(
      fc.property(bursts, fc.nat(10), (intervals, ends) => {
        const world = new World('none');
        for (const arrivals of intervals) {
          world.read();
          const before = new Map(ENDPOINTS.map((id) => [id, world.placesAt(id)]));
          for (const { gateway, tenant } of arrivals) world.ask(gateway, light(tenant));
          for (const id of ENDPOINTS) {
            const free = Math.max(0, SLOTS - (before.get(id) ?? 0));
            const granted = world.placesAt(id) - (before.get(id) ?? 0);
            expect(granted).toBeLessThanOrEqual(free + GATEWAYS.length * Math.floor(SLOTS / GATEWAYS.length));
          }
          for (const one of world.running.slice(0, ends)) world.end(one);
          world.clock.advance(READ_MS);
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('three pools that read each other', () => {
  it('hold no more at an endpoint than its places and the parts of two that had found it free', () => {
    const most = SLOTS + (GATEWAYS.length - 1) * Math.ceil(SLOTS / GATEWAYS.length);
    fc.assert(
      fc.property(bursts, fc.nat(10), fc.constantFrom(90, 370, 1000), (intervals, ends, everyMs) => {
        const world = new World('peers');
        for (const arrivals of intervals) {
          for (const { gateway, tenant } of arrivals) world.ask(gateway, light(tenant));
          for (const id of ENDPOINTS) expect(world.placesAt(id)).toBeLessThanOrEqual(most);
          for (const one of world.running.slice(0, ends)) world.end(one);
          world.clock.advance(everyMs);
          for (const id of ENDPOINTS) expect(world.placesAt(id)).toBeLessThanOrEqual(most);
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('a gateway that loses the store', () => {
  it('has no more than it had for a second, unless there is room for whatever it has not heard of', async () => {
    await fc.assert(
      fc.asyncProperty(burst, burst, fc.nat(2), fc.nat(8), async (before, after, gateway, ends) => {
        const world = new World('exact, comes and goes');
        for (const one of before) world.ask(one.gateway, light(one.tenant));
        await world.settle();
        const had = new Map(ENDPOINTS.map((id) => [id, world.placesAt(id)]));
        world.turn(gateway);
        for (const one of world.running.slice(0, ends)) world.end(one);
        for (const one of after) world.ask(one.gateway, light(one.tenant));
        world.clock.advance(900);
        await world.settle();
        for (const id of ENDPOINTS) {
          const share = (had.get(id) ?? 0) + GATEWAYS.length > SLOTS ? 0 : Math.ceil(SLOTS / GATEWAYS.length);
          // What has ended may have left the engine idle, as far as the one without the store knows.
          if (ends === 0) expect(world.placesAt(id)).toBeLessThanOrEqual(SLOTS + share);
          else expect(world.placesAt(id)).toBeLessThanOrEqual(SLOTS + Math.ceil(SLOTS / GATEWAYS.length));
        }
      }),
      { numRuns: 200 },
    );
  });
});
