import { loadavg } from 'node:os';
import { recorded, show } from '../report/figures.mjs';
import { fillNarrowBand, takeThePlace } from './held-queue.mjs';
import { COMPARISONS, orderOf } from './modes.mjs';
import { cpuMicros } from './processors.mjs';

/** Cold code costs several times what warm code does: warming up is shortened less than what is measured. */
export const warmScale = (scale) => Math.sqrt(scale);
/** No slice is so short that nothing happens in it. */
const SHORTEST_SECONDS = 0.1;
/** What a request costs is spread over the chunks of its stream: with fewer it would be most of what they cost. */
const FEWEST_CHUNKS = 25;

/**
 * Measures a mode on targets that are up: they are warmed, then slices of load go round them.
 * `run`: { load, token, rounds, scale, progress }. The result: `{ column: { cpuMicros: [one a round, …], p50Micros, p99Micros } }`.
 */
export async function compareMode(name, targets, run) {
  const { load, token, rounds, progress } = run;
  const mode = COMPARISONS[name];
  const cells = mode.cells
    .filter(({ target }) => targets.has(target))
    .map((cell) => ({ ...cell, target: targets.get(cell.target), slices: [] }));
  const filled = cells.find(({ full }) => full === true)?.target;
  if (filled !== undefined) {
    await takeThePlace(load, filled, token);
    await fillNarrowBand(load, filled, token);
  }
  for (const cell of cells)
    await load.run(mode.kind, orderIn(mode, cell, mode.warm, { token, scale: warmScale(run.scale) }));
  for (let round = 0; round < rounds; round += 1) {
    for (const cell of rotated(cells, round)) cell.slices.push(await takeSlice(mode, cell, run));
    progress(`${name}, round ${round + 1} of ${rounds}: ${roundText(cells, round)}`);
  }
  if (filled !== undefined) await load.run('release');
  return Object.fromEntries(cells.map(({ column, slices }) => [column, byFigure(slices)]));
}

const FIGURES = ['cpuMicros', 'p50Micros', 'p99Micros'];
const byFigure = (slices) =>
  Object.fromEntries(FIGURES.map((figure) => [figure, slices.map((slice) => slice[figure])]));

/** Each is the first in its turn. */
const rotated = (cells, round) => cells.map((_, at) => cells[(at + round) % cells.length]);

function roundText(cells, round) {
  const costs = cells.map(({ column, slices }) => `${column} ${show(slices[round].cpuMicros ?? NaN)}`);
  return `µs ${costs.join(', ')}; load ${loadavg()[0].toFixed(1)}`;
}

function orderIn(mode, cell, { requests, chunks, seconds }, { token, scale }) {
  const order = orderOf(mode, cell, token);
  if (chunks !== undefined) return { ...order, chunks: Math.max(Math.ceil(chunks * scale), FEWEST_CHUNKS) };
  return { ...order, requests: Math.ceil(requests * scale), seconds: Math.max(seconds * scale, SHORTEST_SECONDS) };
}

async function takeSlice(mode, cell, run) {
  const { pids } = cell.target;
  const before = cpuMicros(pids);
  const { units, errors, latencyMicros, delayMicros } = await run.load.run(
    mode.kind,
    orderIn(mode, cell, mode.slice, run),
  );
  const spent = cpuMicros(pids) - before;
  if (errors > 0 || units === 0) throw new Error(`${cell.column}: ${errors} failed, ${units} did not`);
  const { p50, p99 } = latencyMicros ?? delayMicros;
  const cost = pids.length > 0 ? spent / units : NaN;
  return { cpuMicros: recorded(cost), p50Micros: recorded(p50), p99Micros: recorded(p99) };
}
