import { percent, short, table } from './markdown.js';
import type { LoadFigures } from './measures.js';
import type { Policy } from './policies.js';
import { REFERENCE, type ChatFigure } from './reference.js';
import type { Cell, Results } from './results.js';

/** The scenarios whose chat the design has figures for. */
export const CHAT_SCENARIOS = ['S1', 'S3', 'S5', 'S6'] as const;

/** Those that have a column in the comparison. */
export const COMPARED: ReadonlySet<string> = new Set([...CHAT_SCENARIOS, 'S2', 'S7']);

const HEAD = ['policy', ...CHAT_SCENARIOS.map((id) => `${id}: chat`), 'S2: platinum p99 / idle', 'S7: Jain'];

const figure = ({ p50, p99, refused = 0 }: ChatFigure): string =>
  `${short(p50)}/${short(p99)}${refused < 0.005 ? '' : ` (${percent(refused)})`}`;

const figureOf = ({ ttftP50, ttftP99, refusedShare }: LoadFigures): ChatFigure => ({
  p50: ttftP50,
  p99: ttftP99,
  refused: refusedShare,
});

function measuredRow(results: Results, policy: Policy): readonly string[] {
  const chat = CHAT_SCENARIOS.map((id) => {
    const load = results.find(id, policy.id)?.figures.loads.get('chat');
    return load === undefined ? '' : figure(figureOf(load));
  });
  const crowd = results.find('S2', policy.id);
  const platinum = crowd === undefined ? '' : results.platinumRatios(crowd).map(short).join('; ');
  return [policy.title, ...chat, platinum, short(results.find('S7', policy.id)?.figures.jain)];
}

function referenceRow({ id }: Policy): readonly string[] | undefined {
  const row = REFERENCE[id];
  if (row === undefined) return undefined;
  const chat = CHAT_SCENARIOS.map((scenario) => {
    const found = row.chat[scenario];
    return found === undefined ? '' : figure(found);
  });
  return ['*reference*', ...chat, row.platinum.map(short).join('; '), row.jain === undefined ? '' : short(row.jain)];
}

/** Each policy's figures, and below them those of the design. */
export function comparisonTable(results: Results, policies: readonly Policy[], withReference: boolean): string {
  const rows = policies.flatMap((policy) => {
    const reference = withReference ? referenceRow(policy) : undefined;
    return [measuredRow(results, policy), ...(reference === undefined ? [] : [reference])];
  });
  return table(HEAD, rows);
}

/** Everything that was measured, a row for each scenario and policy. */
export function detailTable(cells: readonly Cell[]): string {
  const head = [
    'scenario',
    'policy',
    'time to first token p50/p99, last token p99, refused',
    'output tok/s',
    'served/min',
  ];
  return table([...head, 'held at most', 'above ceiling', 'idle beside a queue, s'], cells.map(detailRow));
}

function detailRow({ scenario, policy, figures }: Cell): readonly string[] {
  const loads = [...figures.loads].map(([name, load]) => {
    const failed = load.failed === 0 ? '' : `, ${load.failed} failed`;
    return `${name} ${figure(figureOf(load))}, ${short(load.totalP99)}${failed}`;
  });
  const { outputPerSecond, servedPerMinute, mostHeld, aboveCeiling, idleSeconds, idleBesideLargeSeconds } = figures;
  const counts = [String(mostHeld), String(aboveCeiling), `${short(idleSeconds)} / ${short(idleBesideLargeSeconds)}`];
  return [scenario.id, policy.title, loads.join('; '), short(outputPerSecond), short(servedPerMinute), ...counts];
}
