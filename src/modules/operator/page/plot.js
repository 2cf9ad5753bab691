/** Small plots of the last minutes. */
import { el, mark, say, svg } from './dom.js';
import { duration } from './words.js';

const WIDTH = 300;
const HEIGHT = 44;

/**
 * A plot: `{ root, draw(values, options) }`. `values`: oldest first, the newest at the right edge; null leaves a gap.
 */
export function makePlot(title, kind) {
  const value = el('b', { class: 'plot-now' });
  const top = el('span', { class: 'plot-top' });
  const area = svg('path', { class: 'area' });
  const line = svg('path', { class: 'line' });
  const limit = svg('line', { class: 'limit', x1: 0, x2: WIDTH });
  const picture = svg(
    'svg',
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' },
    svg('line', { class: 'floor', x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }),
    area,
    line,
    limit,
  );
  const caption = el('figcaption', {}, el('span', { class: 'plot-title' }, title), value, top);
  const root = el('figure', { class: `plot ${kind}` }, caption, picture);
  return { root, draw: drawInto({ title, value, top, area, line, limit, picture }) };
}

const drawInto =
  ({ title, value, top, area, line, limit, picture }) =>
  (values, { width, spanMs, least, at, format }) => {
    const known = values.filter((one) => one !== null);
    const most = Math.max(least, at ?? 0, ...known);
    const y = (one) => HEIGHT - 1 - (one / most) * (HEIGHT - 3);
    const last = values.at(-1) ?? null;
    const now = last === null ? 'unknown' : format(last);
    const peak = known.length === 0 ? 0 : Math.max(...known);
    say(value, now);
    say(top, known.length === 0 ? '' : `max ${format(peak)}`);
    mark(picture, 'aria-label', `${title}, last ${duration(spanMs)}: now ${now}, at most ${format(peak)}`);
    const runs = runsOf(values, width, y);
    mark(line, 'd', runs.map((run) => `M${run.map(([x, h]) => `${x} ${h}`).join('L')}`).join(''));
    mark(area, 'd', runs.map(areaOf).join(''));
    limit.toggleAttribute('hidden', at === undefined);
    if (at !== undefined) for (const end of ['y1', 'y2']) mark(limit, end, y(at).toFixed(1));
  };

/** The stretches without a gap, as points. */
function runsOf(values, width, y) {
  const runs = [[]];
  const step = WIDTH / Math.max(1, width - 1);
  values.forEach((one, at) => {
    if (one === null) runs.push([]);
    else runs.at(-1).push([(WIDTH - (values.length - 1 - at) * step).toFixed(1), y(one).toFixed(1)]);
  });
  return runs.filter((run) => run.length > 0).map((run) => (run.length > 1 ? run : [...run, ...run]));
}

const areaOf = (run) =>
  `M${run[0][0]} ${HEIGHT}L${run.map(([x, h]) => `${x} ${h}`).join('L')}L${run.at(-1)[0]} ${HEIGHT}Z`;
