// What a budget costs a request in memory: reserve and settle, reserve and give back, refuse; microseconds each.
// Run after a build: node --expose-gc test/bench/budgets.bench.mjs [folder with the compiled budgets]
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scaled } from './scale.mjs';

const here = import.meta.dirname;
const compiled = resolve(process.argv[2] ?? `${here}/../../dist/modules/budgets`);
const { Budgets } = await import(pathToFileURL(`${compiled}/budgets.js`).href);

const OPERATIONS = scaled(50_000);
const ROUNDS = scaled(30, 2);
const GOAL_MICROSECONDS = 2;

/** A day in which each request comes a fraction of a millisecond after the one before. */
const clock = { time: 0, now: () => (clock.time += 0.05), after: () => ({ cancel: () => undefined }) };
const policy = {
  windowMs: 60_000,
  default: { requests: 1_000_000_000, tokens: 1_000_000_000_000 },
  tenants: [{ name: 'spent', requests: 1, tokens: 1 }],
};
const budgets = new Budgets(policy, 1, clock);
/** Here time stands still, so that a budget that is spent stays so. */
const spent = new Budgets(policy, 1, { ...clock, now: () => 0 });
spent.reserve({ tenant: 'spent' }, 1).settle(1);

const callers = (count) => Array.from({ length: count }, (_, at) => ({ tenant: `tenant-${at}` }));
const SPENT = { tenant: 'spent' };

const CASES = {
  'reserve and settle, one tenant': [callers(1), (caller) => budgets.reserve(caller, 2000).settle(300)],
  'reserve and settle, 1000 tenants': [callers(1000), (caller) => budgets.reserve(caller, 2000).settle(300)],
  'the same, more tenants than are held': [callers(20_000), (caller) => budgets.reserve(caller, 2000).settle(300)],
  'reserve and give back': [callers(1000), (caller) => budgets.reserve(caller, 2000)[Symbol.dispose]()],
  'reserve, settle, and the fields': [
    callers(1000),
    (caller) => {
      const reservation = budgets.reserve(caller, 2000);
      if (reservation.fields.length !== 4) throw new Error('no fields');
      reservation.settle(300);
    },
  ],
  'refuse, problem and stack included': [
    [SPENT],
    (caller) => {
      try {
        spent.reserve(caller, 1);
      } catch {
        return;
      }
      throw new Error('it was not refused');
    },
  ],
};

function microseconds([among, act]) {
  const startedAt = process.hrtime.bigint();
  for (let i = 0; i < OPERATIONS; i += 1) act(among[i % among.length]);
  return Number(process.hrtime.bigint() - startedAt) / 1000 / OPERATIONS;
}

console.log(
  `microseconds each, best and median of ${ROUNDS} rounds of ${OPERATIONS}; the goal is ${GOAL_MICROSECONDS}\n`,
);
for (const [label, one] of Object.entries(CASES)) {
  globalThis.gc?.();
  const rounds = Array.from({ length: ROUNDS }, () => microseconds(one)).sort((a, b) => a - b);
  console.log(`${label.padEnd(40)}${rounds[0].toFixed(2).padStart(8)}${rounds[ROUNDS >> 1].toFixed(2).padStart(8)}`);
}
