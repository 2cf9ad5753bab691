import type { Figures, LoadFigures } from './measures.js';
import type { Policy } from './policies.js';
import { runSeeds, type RunSettings } from './run.js';
import { idleOf, type Scenario } from './scenario-list.js';
import { noGate } from './plain-rules.js';

const NO_GATE: Policy = { id: 'none', title: 'no gate', gateways: 1, gate: noGate };

/** What one policy made of one scenario. */
export interface Cell {
  readonly scenario: Scenario;
  readonly policy: Policy;
  readonly figures: Figures;
}

/** All that was measured. */
export class Results {
  readonly cells: Cell[] = [];
  private readonly idle = new Map<string, LoadFigures>();

  constructor(private readonly settings: RunSettings) {}

  measure(scenario: Scenario, policy: Policy): Cell {
    const cell = { scenario, policy, figures: runSeeds(scenario, policy, this.settings) };
    this.cells.push(cell);
    return cell;
  }

  find(scenarioId: string, policyId: string): Cell | undefined {
    return this.cells.find(({ scenario, policy }) => scenario.id === scenarioId && policy.id === policyId);
  }

  /** Platinum's p99 over its p99 on idle engines of the same kind: to the first token, and to the last. */
  platinumRatios({ scenario, figures }: Cell): readonly [number, number] {
    const loaded = figures.loads.get('platinum');
    const idle = this.idleOf(scenario);
    if (loaded === undefined || idle === undefined) return [NaN, NaN];
    return [loaded.ttftP99 / idle.ttftP99, loaded.totalP99 / idle.totalP99];
  }

  private idleOf(scenario: Scenario): LoadFigures | undefined {
    const known = this.idle.get(scenario.id);
    if (known !== undefined) return known;
    const figures = runSeeds(idleOf(scenario), NO_GATE, this.settings).loads.get('platinum');
    if (figures !== undefined) this.idle.set(scenario.id, figures);
    return figures;
  }
}
