import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { COMPARED, comparisonTable, detailTable } from '../scenarios/comparison.js';
import { POLICIES, type Policy } from '../scenarios/policies.js';
import { renderReport, renderReportChart } from '../scenarios/report.js';
import { Results } from '../scenarios/results.js';
import { DEFAULT_RUN, type RunSettings } from '../scenarios/run.js';
import { SCENARIOS, type Scenario } from '../scenarios/scenario-list.js';
import { worthTable } from '../scenarios/worth.js';
import { writing } from './system-errors.js';

type Print = (line: string) => void;

export const USAGE =
  'usage: gateway scenarios [--only S1,S3] [--policies controller,none] [--seeds N] [--gateways N] [--quick] [--slow-metrics] ' +
  '[--worth] [--write FOLDER]';
const QUICK_SHARE = 0.25;
const FIRST_SEED = 101;

interface Wanted {
  readonly scenarios: readonly Scenario[];
  readonly policies: readonly Policy[];
  readonly settings: RunSettings;
  readonly worth: boolean;
  readonly folder: string | undefined;
}

/** Runs the admission scenarios in virtual time: prints their figures, or with `--write` the whole page and its chart. */
export function scenariosCommand(argv: readonly string[], _env: unknown, out: Print, err: Print): number {
  try {
    run(readArguments(argv), out);
    return 0;
  } catch (error) {
    err(`gateway scenarios: ${(error as Error).message}`);
    err(USAGE);
    return 1;
  }
}

function run({ scenarios, policies, settings, worth, folder }: Wanted, out: Print): void {
  const [controller] = POLICIES.filter(({ id }) => id === 'controller');
  if (folder !== undefined) {
    // Before the minutes of measuring, not after them.
    writing('--write', folder, () => mkdirSync(folder, { recursive: true }));
    const results = measureAll(scenarios, policies, settings, out);
    const compared = scenarios.filter(({ id }) => COMPARED.has(id));
    const unshared = policies.filter(({ shares }) => shares !== true);
    const alone = measureAll(compared, unshared, { ...settings, gateways: 1 }, () => undefined);
    const table = controller === undefined ? '' : worthTable(controller, scenarios, settings, out);
    write(folder, 'scenarios.md', renderReport({ settings, policies, results, unshared, alone, worth: table }));
    write(folder, 'scenarios.svg', renderReportChart(results, policies));
    out(`wrote ${join(folder, 'scenarios.md')} and ${join(folder, 'scenarios.svg')}`);
  } else if (worth && controller !== undefined) out(worthTable(controller, scenarios, settings, out));
  else {
    const results = measureAll(scenarios, policies, settings, out);
    out(detailTable(results.cells));
    out(comparisonTable(results, policies, true));
  }
}

function write(folder: string, name: string, text: string): void {
  const file = join(folder, name);
  writing('--write', file, () => writeFileSync(file, text));
}

function measureAll(
  scenarios: readonly Scenario[],
  policies: readonly Policy[],
  settings: RunSettings,
  out: Print,
): Results {
  const results = new Results(settings);
  for (const scenario of scenarios) {
    for (const policy of policies) results.measure(scenario, policy);
    out(`measured ${scenario.id}: ${scenario.title}`);
  }
  return results;
}

function readArguments(argv: readonly string[]): Wanted {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      ...{ only: text, policies: text, seeds: text, gateways: text, write: text },
      ...{ quick: flag, 'slow-metrics': flag, worth: flag },
    },
  });
  const seeds = values.seeds === undefined ? DEFAULT_RUN.seeds.length : count('--seeds', values.seeds);
  return {
    scenarios: chosen('--only', SCENARIOS, values.only),
    policies: chosen('--policies', POLICIES, values.policies),
    settings: {
      ...DEFAULT_RUN,
      seeds: Array.from({ length: seeds }, (_, index) => FIRST_SEED + index),
      gateways: values.gateways === undefined ? undefined : count('--gateways', values.gateways),
      slowMetrics: values['slow-metrics'],
      lengthShare: values.quick ? QUICK_SHARE : 1,
    },
    worth: values.worth,
    folder: values.write,
  };
}

function count(flag: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error(`${flag} must be a whole number above 0, not "${text}"`);
  return Number(text);
}

function chosen<T extends { readonly id: string }>(
  flag: string,
  all: readonly T[],
  text: string | undefined,
): readonly T[] {
  if (text === undefined) return all;
  return text.split(',').map((id) => {
    const found = all.find((one) => one.id === id);
    if (found === undefined)
      throw new Error(`${flag}: there is no "${id}"; there are ${all.map((one) => one.id).join(', ')}`);
    return found;
  });
}
