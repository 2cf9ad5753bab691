// What a request costs the pool while so many wait in it: microseconds to join the queue, to leave it, to be served.
// Run after a build: node --expose-gc test/bench/admission.bench.mjs [folder with the compiled admission core]
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scaled } from './scale.mjs';

const here = import.meta.dirname;
const compiled = resolve(process.argv[2] ?? `${here}/../../dist/modules/admission/core`);
const { Pool } = await import(pathToFileURL(`${compiled}/pool.js`).href);

const OPERATIONS = scaled(500, 5);
const DEPTHS = [1_000, 10_000, 100_000].map((depth) => scaled(depth, OPERATIONS));
const ROUNDS = scaled(30, 2);
const CALM_OPERATIONS = scaled(20_000);

const ALL_BANDS = [0, 1, 2];

/** Time stands still but for what the bench says; nothing that waits here is ever too late. */
const clock = { time: 0, now: () => clock.time, after: () => ({ cancel: () => undefined }) };

const band = (name, ceiling) => ({ name, ceiling, capacity: 1_000_000, ttlMs: 3_600_000 });
const POLICY = {
  name: 'reasoning',
  bands: [band('platinum', 1), band('gold', 0.9), band('bronze', 0.75)],
  defaultBand: 1,
  limit: 8,
  slotsPerEndpoint: 4,
  retryAfterMs: 5_000,
  strictReserve: false,
  generates: true,
  gauges: { kvCeiling: 0.9, maxInflight: 4, maxParkMs: 120_000 },
};

const request = (tenant, at, bands) => ({
  tenant: `tenant-${tenant}`,
  band: bands[at % bands.length],
  places: 1,
  promptTokens: 200 + (at % 7) * 100,
  cachedTokens: 0,
  outputTokens: 100,
  stretchable: true,
});

/** The best round: whatever else the machine does only ever adds to it. */
const best = (values) => Math.min(...values);
const microseconds = (operations, run) => {
  const startedAt = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - startedAt) / 1000 / operations;
};

/** A pool and what it holds: who waits can leave, who runs can end. */
class World {
  pool = new Pool(POLICY, clock, () => 0.5);
  running = [];
  waiting = [];
  arrivals = 0;

  constructor({ tenants, bands }) {
    this.tenants = tenants;
    this.bands = bands;
    this.pool.setEndpoints(['10.0.0.1:80', '10.0.0.2:80']);
  }

  ask() {
    const at = this.arrivals++;
    const one = { ticket: undefined, waits: true, touched: false };
    const ticket = this.pool.enqueue(request(at % this.tenants, at, this.bands), {
      granted: (lease) => {
        one.waits = false;
        lease.firstToken();
        this.running.push(lease);
      },
      refused: (why) => {
        throw new Error(`refused: ${why}`);
      },
    });
    if (one.waits) this.waiting.push(Object.assign(one, { ticket }));
  }

  fill(depth) {
    this.waiting = this.waiting.filter(({ waits }) => waits);
    while (this.waiting.length < depth) this.ask();
  }

  /** The oldest lease ends, and with that somebody's wait. */
  serve() {
    clock.time += 5;
    const lease = this.running.shift();
    lease.settle(300, 100);
    lease.release();
  }

  /** Somebody who waits leaves, from anywhere in the queue. */
  leave(at) {
    const one = this.waiting[at];
    one.waits = false;
    one.ticket.cancel();
  }
}

/** What no queue can save: whoever leaves is read and written, wherever in memory it lies. */
function touch(world, at) {
  const one = world.waiting[at];
  one.touched = one.ticket.waits;
}

/** Places in the queue, without order: two neighbours would share what the processor has at hand. */
function anyOf(length, first) {
  const places = new Set();
  for (let at = first; places.size < OPERATIONS; at = (at * 48_271) % 2_147_483_647) places.add(at % length);
  return [...places];
}

function costsAt(depth, kind) {
  globalThis.gc?.();
  const world = new World(kind);
  const costs = { enqueue: [], dispatch: [], touch: [], cancel: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    world.fill(depth);
    const repeat = (act) => () => {
      for (let i = 0; i < OPERATIONS; i += 1) act(i);
    };
    costs.enqueue.push(
      microseconds(
        OPERATIONS,
        repeat(() => world.ask()),
      ),
    );
    const untouched = anyOf(world.waiting.length, 2);
    costs.touch.push(
      microseconds(
        OPERATIONS,
        repeat((i) => touch(world, untouched[i])),
      ),
    );
    const chosen = anyOf(world.waiting.length, 1);
    costs.cancel.push(
      microseconds(
        OPERATIONS,
        repeat((i) => world.leave(chosen[i])),
      ),
    );
    world.fill(depth);
    costs.dispatch.push(
      microseconds(
        OPERATIONS,
        repeat(() => world.serve()),
      ),
    );
  }
  return Object.fromEntries(Object.entries(costs).map(([name, values]) => [name, best(values)]));
}

function calmCost() {
  const world = new World({ tenants: 16, bands: ALL_BANDS });
  const rounds = Array.from({ length: ROUNDS }, () =>
    microseconds(CALM_OPERATIONS, () => {
      for (let i = 0; i < CALM_OPERATIONS; i += 1) {
        world.ask();
        world.serve();
      }
    }),
  );
  return best(rounds);
}

const row = (label, values) => console.log(`${label.padEnd(34)}${values.map((value) => value.padStart(12)).join('')}`);

console.log(`microseconds each, best of ${ROUNDS} rounds; the last column is the largest queue against the smallest\n`);
row('', [...DEPTHS.map((depth) => `${depth} wait`), 'ratio']);
const KINDS = [
  ['100 tenants', { tenants: 100, bands: ALL_BANDS }],
  ['a tenant each', { tenants: Infinity, bands: ALL_BANDS }],
  // The pool is not full: every arrival has the heads tried again.
  ['held by a ceiling', { tenants: 100, bands: [2] }],
];
for (const [label, kind] of KINDS) {
  const measured = DEPTHS.map((depth) => costsAt(depth, kind));
  for (const name of ['enqueue', 'dispatch', 'touch', 'cancel']) {
    const values = measured.map((costs) => costs[name]);
    row(`${name}, ${label}`, [
      ...values.map((value) => value.toFixed(2)),
      `${(values.at(-1) / values[0]).toFixed(2)}x`,
    ]);
  }
}
row('\nenqueue, grant, release, idle pool', [calmCost().toFixed(2)]);
