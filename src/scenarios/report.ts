import { burstSections } from './burst.js';
import { renderChart, type Bar } from './chart.js';
import { CHAT_SCENARIOS, comparisonTable, detailTable } from './comparison.js';
import type { Policy } from './policies.js';
import { REFERENCE } from './reference.js';
import type { Cell, Results } from './results.js';
import { seedsOf, type RunSettings } from './run.js';

const COLORS = [
  '#9e9e9e',
  '#8d6e63',
  '#f9a825',
  '#ef6c00',
  '#7e57c2',
  '#90caf9',
  '#42a5f5',
  '#1e88e5',
  '#1565c0',
  '#00897b',
] as const;

const INTRODUCTION = `# Admission under load, in virtual time

\`npm run scenarios\` writes this page and its chart. Engines are simulated step by step (two of them, four sequences each,
a 32B model on two Volta cards unless a scenario says otherwise), gateways poll their gauges every 2 s, arrivals and the
errors of the gateways' estimates come from seeded generators: the same seeds give the same page.

![First tokens of chat by policy](scenarios.svg)`;

const COMPARISON = `## Against the figures of the design

Chat's time to the first token in seconds, p50/p99 (share of chat turned away). *Reference* is what came out of the simulation
that the algorithm was designed on ([ADR 7](adr/0007-admission-beyond-the-page.md)): three gateways, other seeds. *Share
only*, *peers* and *exact* are three gateways with \`admission.store\` none, peers and a store that counts for all. This
controller by itself runs with one gateway, and is held against the reference of the exact store. Platinum: p99 to the first
token and to the last, over the same on idle engines. Jain: how evenly four tenants were served, one of which floods.`;

const ONE_GATEWAY = '## The same with one gateway each';

const BURST = `## Two prompts of 65k tokens and fifteen of 8k

On the engine that the gauge gate was written for: 525 tok/s of prefill, 152 432 tokens of KV memory, four sequences. Times
are of those that were served, so a row that turns many away looks better than it is. For the gauges alone, \`maxPark\` has
to be longer than the longest wait of the row without one. This controller counts only the time in which nothing but the
gauges holds a request at the head of its queue: where a \`maxPark\` of 5 s turns nobody away, there is none of it.`;

const WORTH = `## What each test earns

The controller, and the controller with one test left out.`;

const DETAILS = `## All measurements

*Held at most*: places at one endpoint, of all gateways together. *Above ceiling*: grants that put an endpoint above the
band's share of its slots. *Idle beside a queue*: how long, over all seeds, an endpoint had been idle for
2.5 s while somebody had waited as long: with a prompt of less than 8k tokens, and with larger ones only, which wait for the
one endpoint that takes such.`;

export interface ReportParts {
  readonly settings: RunSettings;
  readonly policies: readonly Policy[];
  readonly results: Results;
  /** Those that one gateway can follow, measured with one gateway. */
  readonly unshared: readonly Policy[];
  readonly alone: Results;
  readonly worth: string;
}

/** The whole page. */
export function renderReport({ settings, policies, results, unshared, alone, worth }: ReportParts): string {
  const cells: readonly Cell[] = results.cells;
  return [
    INTRODUCTION,
    COMPARISON,
    comparisonTable(results, policies, true),
    ONE_GATEWAY,
    comparisonTable(alone, unshared, false),
    BURST,
    ...burstSections(settings.seeds),
    WORTH,
    worth,
    DETAILS,
    detailTable(cells),
    seedsLine(settings, cells),
    '',
  ].join('\n\n');
}

function seedsLine(settings: RunSettings, cells: readonly Cell[]): string {
  const fewer = new Map(
    cells
      .map(({ scenario }) => [scenario.id, seedsOf(scenario, settings)] as const)
      .filter(([, seeds]) => seeds.length < settings.seeds.length),
  );
  const lines = [...fewer].map(([id, seeds]) => ` ${id}, which has the most requests by far: ${seeds.join(', ')}.`);
  return `Seeds: ${settings.seeds.join(', ')}.${lines.join('')}`;
}

/** The chart beside it. */
export function renderReportChart(results: Results, policies: readonly Policy[]): string {
  const chatOf = (id: string) => ({
    label: `${id}: chat`,
    bars: policies.map(({ id: policy }) =>
      bar(results.find(id, policy)?.figures.loads.get('chat')?.ttftP99, REFERENCE[policy]?.chat[id]?.p99),
    ),
  });
  const crowd = policies.map(({ id }) => results.find('S2', id));
  const ratios = crowd.map((cell) => (cell === undefined ? [] : results.platinumRatios(cell)));
  const ratioOf = (label: string, index: 0 | 1) => ({
    label,
    bars: policies.map(({ id }, at) => bar(ratios[at]?.[index], REFERENCE[id]?.platinum[index])),
  });
  const jain = {
    label: 'S7: service of four tenants, one of which floods',
    bars: policies.map(({ id }) => bar(results.find('S7', id)?.figures.jain, REFERENCE[id]?.jain)),
  };
  const seconds = { axis: { low: 0.1, high: 1_000, logarithmic: true }, ticks: [0.1, 1, 10, 100, 1_000] };
  return renderChart({
    title: 'Admission under load: this gateway, and the figures of its design (black marks)',
    series: policies.map(({ title }, index) => ({ title, color: COLORS[index % COLORS.length] ?? '#000000' })),
    panels: [
      { title: 'p99 to the first token, seconds', groups: CHAT_SCENARIOS.map(chatOf), ...seconds },
      {
        title: 'S2: platinum under 500 batch clients, p99 over the idle p99',
        groups: [ratioOf('to the first token', 0), ratioOf('to the last token', 1)],
        axis: { low: 0.5, high: 5_000, logarithmic: true },
        ticks: [1, 10, 100, 1_000],
      },
      { title: "Jain's index", groups: [jain], axis: { low: 0, high: 1, logarithmic: false }, ticks: [0, 0.5, 1] },
    ],
  });
}

const bar = (value: number | undefined, reference: number | undefined): Bar => ({
  value: value === undefined || Number.isNaN(value) ? undefined : value,
  reference,
});
