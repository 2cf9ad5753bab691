import { controller } from './controller-gate.js';
import { GOLD } from './gate.js';
import type { Outcome } from './job.js';
import { POLICIES, type Policy } from './policies.js';
import { DEFAULT_RUN, runOnce } from './run.js';
import { SCENARIOS } from './scenario-list.js';
import { World } from './world.js';
import { VOLTA } from '../sim/core/profiles.js';

const SEED = 5;
const SHORT = { ...DEFAULT_RUN, lengthShare: 0.1 };
/** S6 loses its engine after a quarter of its time. */
const WITH_OUTAGE = { ...DEFAULT_RUN, lengthShare: 0.35 };

const policy = (id: string): Policy => POLICIES.find((one) => one.id === id) ?? fail(id);
const fail = (id: string): never => {
  throw new Error(`there is no ${id}`);
};

describe.each(SCENARIOS)('$id: $title', (scenario) => {
  const settings = ['S5', 'S6'].includes(scenario.id) ? WITH_OUTAGE : SHORT;

  it.each(['controller', 'strict'])('keeps its promises with %s', (id) => {
    const run = runOnce(scenario, policy(id), SEED, settings);
    const { slots } = scenario.profile;
    expect(run.outcomes.length).toBeGreaterThan(10);
    expect(run).toMatchObject({ unended: 0, unreturned: 0, aboveCeiling: 0 });
    // A strict reserve is just that: an engine that stands ready for the highest band.
    if (id !== 'strict') expect(run.idleSeconds).toBe(0);
    expect(run.mostHeld).toBeLessThanOrEqual(1.5 * slots);
    expect(run.peakRunning).toBeLessThanOrEqual(slots);
    const inOrder = ({ firstAt, how, arrivedAt, endedAt }: Outcome): boolean =>
      (how !== 'served' || (firstAt ?? 0) > arrivedAt) && endedAt >= (firstAt ?? arrivedAt);
    expect(run.outcomes.filter((outcome) => !inOrder(outcome))).toEqual([]);
  });
});

describe.each(POLICIES)('$title', ({ id }) => {
  it.each(['S1', 'S4', 'S6', 'S7'])('ends every request of %s once, with three gateways as well', (scenarioId) => {
    const scenario = SCENARIOS.find((one) => one.id === scenarioId) ?? fail(scenarioId);
    const run = runOnce(scenario, policy(id), SEED, { ...WITH_OUTAGE, gateways: 3 });
    expect(run.outcomes.length).toBeGreaterThan(10);
    expect(run).toMatchObject({ unended: 0, unreturned: 0 });
  });
});

describe('a world', () => {
  const [first] = SCENARIOS;
  if (first === undefined) throw new Error('there are no scenarios');

  it('gives the same outcomes for the same seed, and others for another', () => {
    const outcomes = (seed: number) => runOnce(first, policy('controller'), seed, SHORT).outcomes;
    expect(outcomes(1)).toEqual(outcomes(1));
    expect(outcomes(1)).not.toEqual(outcomes(2));
  });

  it('sends the same load through every gate', () => {
    const arrivals = (id: string) =>
      runOnce(first, policy(id), SEED, SHORT)
        .outcomes.map(({ arrivedAt, job }) => `${arrivedAt} ${job.load} ${job.tenant}`)
        .sort();
    expect(arrivals('none')).toEqual(arrivals('controller'));
  });

  it('takes the places of clients back that lose patience, whether they wait or run', () => {
    const settings = { gateways: 1, endpoints: 1, profile: VOLTA, slowMetrics: false };
    const world = new World({ ...settings, gate: controller(), seed: SEED });
    const draws = world.draws('impatient');
    const job = { tenant: 't', band: GOLD, outputTokens: 50, patienceMs: 20_000 };
    world.stream(0.2, draws, () => world.send({ ...job, load: 'small', promptTokens: 500 }, draws));
    world.at(5_000, () => world.send({ ...job, load: 'large', promptTokens: 30_000 }, draws));
    const { outcomes, unended, unreturned } = world.run(120_000);
    const left = outcomes.filter(({ how }) => how === 'left');
    expect(left.filter(({ job: { load } }) => load === 'large')).toHaveLength(1);
    expect(outcomes.filter(({ how }) => how === 'served').length).toBeGreaterThan(5);
    expect([unended, unreturned]).toEqual([0, 0]);
  });

  it('lets a flood past an idle gauge, which is what the gauges alone cannot see', () => {
    const [, crowd] = SCENARIOS;
    if (crowd === undefined) throw new Error('there is no S2');
    const held = (id: string) => runOnce(crowd, policy(id), SEED, SHORT).mostHeld;
    expect(held('gauges')).toBeGreaterThan(50);
    expect(held('controller')).toBeLessThanOrEqual(6);
  });
});
