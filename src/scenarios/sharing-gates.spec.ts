import { exact, peers, shareOnly } from './sharing-gates.js';
import { GOLD, type GateMaker } from './gate.js';
import { DEFAULT_RUN, runSeeds } from './run.js';
import { SCENARIOS } from './scenario-list.js';
import { VirtualClock } from '../sim/core/virtual-clock.js';

const SEEDS = [101];
const GATES = { share: shareOnly(), peers: peers(), exact: exact() };

const policyOf = (id: keyof typeof GATES) => ({ id, title: id, gateways: 3, gate: GATES[id] });
const scenario = (id: string) => {
  const found = SCENARIOS.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no scenario ${id}`);
  return found;
};

const names = ['share', 'peers', 'exact'] as const;

describe('three gateways', () => {
  it.each(names)('end every request once and give every place back: %s', (name) => {
    for (const id of ['S1', 'S6', 'N1']) {
      const figures = runSeeds(scenario(id), policyOf(name), { ...DEFAULT_RUN, seeds: SEEDS });
      expect([figures.unended, figures.unreturned]).toEqual([0, 0]);
    }
  });

  it('never go above a ceiling with an exact store', () => {
    for (const id of ['S1', 'S3', 'S6']) {
      const figures = runSeeds(scenario(id), policyOf('exact'), { ...DEFAULT_RUN, seeds: SEEDS });
      expect([id, figures.aboveCeiling]).toEqual([id, 0]);
    }
  });

  it.each([
    ['share', 28, 0.92],
    ['peers', 11, 0.98],
    ['exact', 9, 0.98],
  ] as const)('serve chat beside batch work and share out evenly: %s', (name, p99, jain) => {
    const settings = { ...DEFAULT_RUN, seeds: SEEDS };
    const chat = runSeeds(scenario('S3'), policyOf(name), settings).loads.get('chat');
    expect(chat?.ttftP99).toBeLessThanOrEqual(p99);
    expect(runSeeds(scenario('S7'), policyOf(name), settings).jain).toBeGreaterThanOrEqual(jain);
    // Requests for four places at once find them, though others take each place as it comes free.
    const wide = runSeeds(scenario('N1'), policyOf(name), settings).loads.get('wide');
    expect(wide?.refusedShare).toBe(0);
  });
});

const HOUR_MS = 3_600_000;

/** One tenant keeps 32 requests waiting on one gateway, another one keeps one waiting on a second: places served of each. */
function servedOf(gate: GateMaker): readonly [number, number] {
  const clock = new VirtualClock();
  const site = { clock, random: () => 0.5, gateways: 2, endpoints: 1, slots: 4, generates: false };
  const served: [number, number] = [0, 0];
  const gates = [gate({ ...site, gateway: 0 }), gate({ ...site, gateway: 1 })];
  for (const one of gates) one.setEndpoints(['e0']);
  const ask = (index: 0 | 1): void => {
    const request = {
      tenant: `t${index}`,
      band: GOLD,
      places: 1,
      promptTokens: 500,
      cachedTokens: 0,
      outputTokens: 100,
    };
    gates[index]?.enqueue(
      { ...request, stretchable: true },
      {
        granted: (lease) => {
          clock.after(4_000, () => {
            served[index] += 1;
            lease.settle(500, 100);
            // It asks again before its place is free, as somebody does who always has more to ask.
            ask(index);
            lease.release();
          });
        },
        refused: () => void clock.after(1_000, () => ask(index)),
      },
    );
  };
  for (let load = 0; load < 32; load += 1) ask(0);
  for (let load = 0; load < 4; load += 1) ask(1);
  clock.advance(HOUR_MS / 4);
  return served;
}

it.each([
  ['peers', 0.15],
  ['exact', 0.1],
] as const)('a tenant with a flood on one gateway gets no more than one on another: %s', (name, tolerance) => {
  const [flood, other] = servedOf(GATES[name]);
  expect(flood + other).toBeGreaterThan(600);
  expect(Math.abs(flood - other) / ((flood + other) / 2)).toBeLessThanOrEqual(tolerance);
});
