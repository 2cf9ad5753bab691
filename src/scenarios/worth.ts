import { percent, short, table } from './markdown.js';
import { without, type Policy } from './policies.js';
import { Results, type Cell } from './results.js';
import type { RunSettings } from './run.js';
import type { Scenario } from './scenario-list.js';
import { ADMISSION_TESTS } from '../modules/admission/core/admission-tests.js';

const MEASURED = ['S1', 'S2', 'S3', 'S4', 'S7', 'H1', 'H2', 'N1', 'K1'] as const;

const ttft = (cell: Cell | undefined, load: string): string => {
  const found = cell?.figures.loads.get(load);
  return found === undefined ? '' : `${short(found.ttftP50)}/${short(found.ttftP99)}`;
};

/** The same, with the share that was turned away. */
const served = (cell: Cell | undefined, load: string): string => {
  const found = cell?.figures.loads.get(load);
  return found === undefined ? '' : `${ttft(cell, load)} (${percent(found.refusedShare)})`;
};

function row(results: Results, policy: Policy): readonly string[] {
  const cell = (id: string): Cell | undefined => results.find(id, policy.id);
  const crowd = cell('S2');
  const burst = cell('S1')?.figures.loads.get('heavy');
  return [
    policy.title,
    ...['S1', 'S3', 'S4', 'H1', 'H2'].map((id) => ttft(cell(id), 'chat')),
    ...['chat', 'wide'].map((load) => served(cell('N1'), load)),
    burst === undefined ? '' : `${short(burst.ttftP99)} (${percent(burst.refusedShare)})`,
    short(cell('S3')?.figures.loads.get('long')?.totalP99),
    crowd === undefined ? '' : results.platinumRatios(crowd).map(short).join('; '),
    ...['S2', 'S3', 'H1', 'K1'].map((id) => short(cell(id)?.figures.outputPerSecond)),
    String(cell('K1')?.figures.preemptions ?? ''),
    short(cell('S7')?.figures.jain),
  ];
}

const HEAD = [
  ...[
    'controller',
    'S1: chat',
    'S3: chat',
    'S4: chat',
    'H1: chat',
    'H2: chat',
    'N1: chat',
    'N1: four answers',
    'S1: 8k p99 (refused)',
    'S3: long done p99',
  ],
  ...['S2: platinum / idle', 'S2: tok/s', 'S3: tok/s', 'H1: tok/s', 'K1: tok/s', 'K1: preempted', 'S7: Jain'],
];

/** What each test earns: the controller as it is, then with one test left out at a time. */
export function worthTable(
  controller: Policy,
  scenarios: readonly Scenario[],
  settings: RunSettings,
  note: (line: string) => void,
): string {
  const results = new Results(settings);
  const policies = [controller, ...ADMISSION_TESTS.map(({ name }) => without(name))];
  for (const policy of policies) {
    for (const scenario of scenarios) if (MEASURED.some((id) => id === scenario.id)) results.measure(scenario, policy);
    note(`measured ${policy.title}`);
  }
  return table(
    HEAD,
    policies.map((policy) => row(results, policy)),
  );
}
