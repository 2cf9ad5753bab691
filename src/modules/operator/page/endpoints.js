/** What each engine behind an upstream says of itself, and what the gateway has at it. */
import { el, mark, say, sync } from './dom.js';
import { makeBar } from './gauges.js';
import { duration, percent, plural, short, whole } from './words.js';

/** A list of endpoints: `{ root, set(view, about) }`. */
export function makeEndpoints() {
  const list = el('ul', { class: 'endpoints' });
  const more = el('p', { class: 'muted' });
  return {
    root: el('div', {}, list, more),
    set({ endpoints, moreEndpoints }, about) {
      sync(
        list,
        endpoints,
        ({ endpoint }) => endpoint,
        makeEndpoint,
        (part, view) => setEndpoint(part, view, about),
      );
      say(more, moreEndpoints > 0 ? `and ${plural(moreEndpoints, 'more endpoint')}` : '');
    },
  };
}

function makeEndpoint({ endpoint }) {
  const state = el('span', { class: 'badge' });
  const why = el('p', { class: 'why' });
  const figures = el('dl', { class: 'figures' });
  const kv = makeBar('KV memory in use');
  const kvText = el('span', { class: 'kv-text' });
  const ceiling = el('i', { class: 'kv-ceiling' });
  const kvRow = el('div', { class: 'kv' }, kvText, el('div', { class: 'kv-bar' }, kv.root, ceiling));
  const root = el('li', {}, el('h3', {}, el('span', { class: 'mono' }, endpoint), state), why, figures, kvRow);
  return { root, state, why, figures, kv, kvText, kvRow, ceiling };
}

function setEndpoint(part, view, about) {
  const condition = conditionOf(view);
  say(part.state, condition.word);
  mark(part.state, 'data-tone', condition.tone);
  say(part.why, condition.why);
  sync(part.figures, figuresOf(view), ({ name }) => name, makeFigure, setFigure);
  const usage = view.engine?.kvUsage;
  part.kvRow.hidden = usage === undefined;
  if (usage === undefined) return;
  const { kvCeiling } = about;
  part.kv.set(usage, view.state === 'stale' ? 'old' : kvCeiling !== undefined && usage >= kvCeiling ? 'full' : '');
  part.ceiling.hidden = kvCeiling === undefined;
  if (kvCeiling !== undefined) part.ceiling.style.left = `${(kvCeiling * 100).toFixed(1)}%`;
  say(part.kvText, kvWords(view, kvCeiling));
}

function kvWords({ engine }, ceiling) {
  const held = ceiling === undefined ? '' : `, held from ${percent(ceiling)} on`;
  return `KV memory ${percent(engine.kvUsage)}${held}`;
}

/** In one word, in which tone, and what that means. */
function conditionOf({ state, degraded, complaint, down, engine }) {
  if (down) return { word: 'down', tone: 'bad', why: 'It refused a connection a moment ago: others are tried first.' };
  if (state === 'stale') {
    const last = engine === undefined ? 'never answered' : `last read ${duration(engine.ageMs)} ago`;
    return { word: 'stale', tone: 'bad', why: `Gauges ${last}: requests are admitted by the gateway's own ledger.` };
  }
  if (degraded) return { word: 'degraded', tone: 'warn', why: `Gauges: ${complaint ?? 'some are missing'}.` };
  if (state === 'late') return { word: 'late', tone: 'warn', why: `Last read ${duration(engine?.ageMs ?? 0)} ago.` };
  if (state === 'unknown') return { word: 'not read yet', tone: 'warn', why: '' };
  if (state === 'unobserved') return { word: 'not observed', tone: '', why: '' };
  return { word: 'healthy', tone: 'good', why: '' };
}

function figuresOf(view) {
  const { places, placesOfAll, slots, engine, state, prefillBacklogMs, prefillTokensPerSecond, kvReservedTokens } =
    view;
  const figures = [{ name: 'from here', value: `${places} of ${slots}` }];
  if (placesOfAll > places) figures.push({ name: 'from other gateways', value: whole(placesOfAll - places) });
  if (state === 'unobserved') return figures;
  const old = state === 'stale';
  const gauge = (value) => (value === undefined ? 'unknown' : `${old ? 'was ' : ''}${whole(value)}`);
  figures.push(
    { name: 'running', value: gauge(engine?.running), old },
    { name: 'waiting', value: gauge(engine?.waiting), old },
  );
  if (prefillTokensPerSecond !== undefined) {
    figures.push({ name: 'KV set aside', value: `${short(kvReservedTokens)} tok` });
    figures.push({ name: 'prefill ahead', value: duration(prefillBacklogMs) });
    figures.push({ name: 'prefill rate', value: `${whole(prefillTokensPerSecond)} tok/s` });
  }
  return figures;
}

function makeFigure() {
  const name = el('dt');
  const value = el('dd');
  return { root: el('div', {}, name, value), name, value };
}

function setFigure(part, { name, value, old }) {
  say(part.name, name);
  say(part.value, value);
  mark(part.root, 'data-old', old === true);
}
