import { figuresOf, type Figures } from './measures.js';
import type { Policy } from './policies.js';
import type { Scenario } from './scenario-list.js';
import { World, type RunResult } from './world.js';

/** How often, and at what size. */
export interface RunSettings {
  readonly seeds: readonly number[];
  /** undefined: each policy's own. */
  readonly gateways: number | undefined;
  readonly endpoints: number;
  readonly slowMetrics: boolean;
  /** The load lasts this share of its length: less for a quick look. */
  readonly lengthShare: number;
}

export const DEFAULT_RUN: RunSettings = {
  seeds: [101, 102, 103, 104, 105, 106, 107, 108],
  gateways: undefined,
  endpoints: 2,
  slowMetrics: false,
  lengthShare: 1,
};

/** One policy under one load, once. */
export function runOnce(scenario: Scenario, policy: Policy, seed: number, settings: RunSettings): RunResult {
  const { endpoints, slowMetrics, lengthShare } = settings;
  const { profile } = scenario;
  const gateways = settings.gateways ?? policy.gateways;
  const world = new World({ gate: policy.gate, seed, gateways, endpoints, profile, slowMetrics });
  scenario.load(world);
  return world.run(scenario.lengthMs * lengthShare);
}

/** Those of a scenario. */
export const seedsOf = ({ mostSeeds }: Scenario, { seeds }: RunSettings): readonly number[] =>
  seeds.slice(0, mostSeeds);

/** One policy under one load, with every seed. */
export function runSeeds(scenario: Scenario, policy: Policy, settings: RunSettings): Figures {
  return figuresOf(seedsOf(scenario, settings).map((seed) => runOnce(scenario, policy, seed, settings)));
}
