/** How full something is, as bars with marks. */
import { el, mark, say, sync } from './dom.js';
import { percent } from './words.js';

/** Above full there is nothing more to see. */
const clamp = (share) => Math.min(1, Math.max(0, share));

/** A bar: `{ root, set(share, tone) }`; `label` names it for those who cannot see it. */
export function makeBar(label) {
  const fill = el('div', { class: 'fill' });
  const track = el(
    'div',
    { class: 'track', role: 'meter', 'aria-label': label, 'aria-valuemin': 0, 'aria-valuemax': 100 },
    fill,
  );
  return {
    root: track,
    set(share, tone = '') {
      fill.style.width = `${(clamp(share) * 100).toFixed(1)}%`;
      mark(fill, 'data-tone', tone);
      mark(track, 'aria-valuenow', Math.round(clamp(share) * 100));
      mark(track, 'aria-valuetext', percent(share));
    },
  };
}

/** Each name has a row of its own below the bar, so that none covers another. */
const ROW_PX = 15;
/** From a mark's upper end, above the bar, to the first row. */
const ABOVE_PX = 16;
/** Left of a mark so far to the left a name has no room. */
const LOW_SHARE = 0.4;

/** A bar with a mark at each band's ceiling, and the bands' names below: `{ root, set(saturation, ceilings) }`. */
export function makeCeilingBar() {
  const bar = makeBar('Saturation');
  const ticks = el('ul', { class: 'ceilings' });
  const root = el('div', { class: 'ceiling-bar' }, bar.root, ticks);
  return {
    root,
    set(saturation, ceilings) {
      const highest = Math.max(1, ...ceilings.map(({ share }) => share));
      bar.set(saturation / highest, saturation >= 1 ? 'full' : '');
      mark(bar.root, 'aria-valuetext', percent(saturation));
      ticks.style.height = `${ceilings.length * ROW_PX + 4}px`;
      sync(
        ticks,
        ceilings,
        ({ names }) => names,
        makeTick,
        (tick, { names, share, waiting, row }) => {
          tick.root.style.paddingTop = `${ABOVE_PX + row * ROW_PX}px`;
          tick.root.style.left = `${(clamp(share / highest) * 100).toFixed(1)}%`;
          say(tick.text, `${names} ${percent(share)}`);
          mark(tick.root, 'data-reached', waiting || saturation >= share - 1e-3);
          mark(tick.root, 'data-low', share / highest < LOW_SHARE);
          mark(tick.root, 'data-waiting', waiting);
        },
      );
    },
  };
}

function makeTick() {
  const text = el('span');
  return { root: el('li', {}, text), text };
}

/** The ceilings of the bands; bands with the same one share a mark. Highest ceiling last. */
export function ceilingsOf(bands, queues) {
  const marks = new Map();
  for (const { name, ceiling } of bands) {
    const waiting = queues.some((queue) => queue.band === name && queue.depth > 0);
    const mark = marks.get(ceiling) ?? { share: ceiling, names: '', waiting: false };
    marks.set(ceiling, {
      ...mark,
      names: mark.names === '' ? name : `${mark.names}, ${name}`,
      waiting: mark.waiting || waiting,
    });
  }
  return [...marks.values()].sort((a, b) => a.share - b.share).map((one, row) => ({ ...one, row }));
}

const MOST_PIPS = 40;

/** Slots as little squares, or as a bar where there are many: `{ root, set(inUse, elsewhere, limit) }`. */
export function makePips() {
  const pips = el('div', { class: 'pips', 'aria-hidden': 'true' });
  const text = el('span', { class: 'pips-text' });
  return {
    root: el('div', { class: 'slots' }, text, pips),
    /** `elsewhere`: taken by other gateways. */
    set(inUse, elsewhere, limit) {
      say(text, `${inUse} of ${limit} slots${elsewhere > 0 ? `, ${elsewhere} more by other gateways` : ''}`);
      const shown = limit > MOST_PIPS ? 0 : limit;
      while (pips.children.length < shown) pips.append(el('i'));
      while (pips.children.length > shown) pips.lastChild.remove();
      [...pips.children].forEach((pip, at) =>
        mark(pip, 'data-taken', at < inUse ? 'here' : at < inUse + elsewhere && 'elsewhere'),
      );
    },
  };
}
