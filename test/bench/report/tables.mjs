// What was found, as Markdown.
import { COMPARISONS } from '../harness/modes.mjs';
import { median, quantile, show } from './figures.mjs';
import { cellOf, COLUMNS, ROWS } from './rows.mjs';

const NOTHING = '–';

function table(head, rows) {
  const align = head.map((_, at) => (at === 0 ? '---' : '---:'));
  return [head, align, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const middle = (values) => rangeText(quantile(values, 0.25), quantile(values, 0.75));
const rangeText = (least, most) => (Number.isFinite(least) ? `${show(least)}–${show(most)}` : NOTHING);

/** Every row and every column that was measured. `detailed`: with the middle half of the rounds. */
export function summaryTable(modes, detailed = false) {
  const measured = new Set(Object.values(modes).flatMap(({ starts }) => starts.flatMap(Object.keys)));
  const columns = Object.keys(COLUMNS).filter((column) => measured.has(column));
  const rows = ROWS.filter(({ mode }) => modes[mode] !== undefined).map((row) => [
    row.label,
    ...columns.map((column) => summaryCell(row, cellOf(row, column, modes[row.mode]), detailed)),
    row.aim ?? '',
  ]);
  return table(['', ...columns.map((column) => COLUMNS[column]), 'aim'], rows);
}

function summaryCell(row, cell, detailed) {
  if (cell === undefined || !Number.isFinite(median(cell.values))) return NOTHING;
  const { values, absolute, isBase } = cell;
  if (isBase && row.unit !== undefined) return `1 (${show(median(absolute))} ${row.unit})`;
  return detailed && !isBase ? `${show(median(values))} (${middle(values)})` : show(median(values));
}

/** One table a mode, and how it came about. */
export function detailTables(modes) {
  return Object.entries(modes)
    .map(([name, found]) =>
      [`### ${name}: ${titleOf(name)}`, conditionsText(name, found), detailTable(name, found)].join('\n\n'),
    )
    .join('\n\n');
}

const OTHER_TITLES = {
  leaving: "a client's close to the engine's notice",
  parked: 'memory with 1,000 streams that have sent one chunk',
  growth: 'memory over a million chunks, then over fifty thousand streams that are left',
};
const titleOf = (name) => COMPARISONS[name]?.title ?? OTHER_TITLES[name];

const conditionsText = (name, { run, starts }) => {
  const { rounds, scale } = run;
  const { day, machine, load, apart } = run.conditions;
  const ofRounds = name in COMPARISONS ? ` of ${rounds} ${rounds === 1 ? 'round' : 'rounds'}` : '';
  const times = `${starts.length} ${starts.length === 1 ? 'start' : 'starts'}${ofRounds}`;
  const shortened = scale === 1 ? '' : `, shortened to ${scale}`;
  const shared = apart ? '' : '; load and target shared a processor';
  return `${day}, ${times}${shortened}, on ${machine}, load average before ${load}${shared}.`;
};

/** What ran. */
export function versionsText(modes) {
  const [{ run }] = Object.values(modes);
  return Object.entries(run.conditions.versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

function detailTable(name, found) {
  if (name === 'leaving') return leavingTable(found.starts);
  if (name === 'parked') return parkedTable(found.starts);
  return name === 'growth' ? growthTable(found.starts) : comparisonTable(name, found.starts);
}

const columnsOf = (starts) => Object.keys(starts[0] ?? {});
const all = (starts, column, read) => starts.flatMap((start) => read(start[column])).map((value) => value ?? NaN);

function comparisonTable(name, starts) {
  const unit = COMPARISONS[name].kind === 'stream' ? 'delay of a chunk' : 'latency';
  const rows = columnsOf(starts).map((column) => {
    const costs = starts.map((start) =>
      start[column].cpuMicros.map((value, at) => (value ?? NaN) / start.bare.cpuMicros[at]),
    );
    const figure = (key) => show(median(all(starts, column, (one) => one[key])));
    const ratios = costs.flat();
    const ofStarts = costs.map((some) => show(median(some))).join(', ');
    return [
      column,
      figure('cpuMicros'),
      show(median(ratios)),
      middle(ratios),
      ofStarts,
      figure('p50Micros'),
      figure('p99Micros'),
    ];
  });
  const head = ['', 'CPU µs', 'ratio to bare', 'middle half', 'of each start', `p50 µs, ${unit}`, 'p99 µs'];
  return table(head, rows);
}

function leavingTable(starts) {
  const rows = columnsOf(starts).map((column) => [
    column,
    ...['idle', 'flowing'].flatMap((kind) => {
      const sum = (key) => starts.reduce((total, start) => total + start[column][kind][key], 0);
      const figure = (key) => show(median(all(starts, column, (one) => one[kind][key])));
      return [figure('p50Micros'), figure('p99Micros'), `${sum('noticed')} of ${sum('opened')}`];
    }),
  ]);
  return table(['', 'idle p50 µs', 'p99 µs', 'noticed', 'flowing p50 µs', 'p99 µs', 'noticed'], rows);
}

function parkedTable(starts) {
  const rows = columnsOf(starts).map((column) => {
    const figure = (key) => all(starts, column, (one) => one[key]);
    const each = all(starts, column, (one) => ((one.heldMebibytes - one.idleMebibytes) * 1024) / one.streams);
    const range = rangeText(quantile(each, 0), quantile(each, 1));
    return [
      column,
      show(median(figure('idleMebibytes'))),
      show(median(figure('heldMebibytes'))),
      show(median(each)),
      range,
    ];
  });
  return table(['', 'MiB, warm and idle', 'MiB, with the streams', 'KiB a stream', 'least–most'], rows);
}

function growthTable(starts) {
  const rows = columnsOf(starts).flatMap((column) =>
    ['chunks', 'aborts'].map((what) => {
      const [{ warmMebibytes, [what]: readings }] = starts.map((start) => start[column]);
      const label = what === 'chunks' ? 'chunks' : 'streams left';
      return [
        `${column}, ${readings.at(-1).done} ${label}`,
        show(warmMebibytes),
        ...readings.map(({ mebibytes }) => show(mebibytes)),
      ];
    }),
  );
  return table(['MiB', 'before all', ...Array.from({ length: 10 }, (_, at) => `${at + 1}0 %`)], rows);
}
