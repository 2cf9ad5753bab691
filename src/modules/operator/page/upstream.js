/** One upstream: how full it is, who waits and why, its engines, and its last minutes. */
import { el, mark, say } from './dom.js';
import { makeEndpoints } from './endpoints.js';
import { ceilingsOf, makeCeilingBar, makePips } from './gauges.js';
import { makePlot } from './plot.js';
import { makeQueue } from './queue.js';
import { duration, percent, perSecond, whole } from './words.js';

/** What is plotted: the series, where the axis ends at least, a limit, and how a value is written. */
const PLOTS = [
  { series: 'running', title: 'Running', kind: 'run', limit: ({ limit }) => limit, format: whole },
  { series: 'waiting', title: 'Waiting', kind: 'wait', least: 4, format: whole },
  {
    series: 'kv',
    title: 'KV memory',
    kind: 'run',
    least: 1,
    limit: ({ kvCeiling }) => kvCeiling,
    format: percent,
    optional: true,
  },
  {
    series: 'firstMs',
    title: 'First token, slowest',
    kind: 'run',
    least: 1000,
    format: duration,
    optional: true,
    sparse: true,
  },
  { series: 'served', title: 'Served', kind: 'run', least: 1, rate: true, format: perSecond },
  {
    series: 'rejected',
    title: 'Turned away or failed',
    kind: 'bad',
    least: 1,
    rate: true,
    format: perSecond,
    exception: true,
  },
];

export function makeUpstream({ upstream }) {
  const parts = {
    models: el('span', { class: 'muted' }),
    state: el('span', { class: 'badge' }),
    pips: makePips(),
    saturation: el('p', { class: 'saturation' }),
    bar: makeCeilingBar(),
    queue: makeQueue(),
    endpoints: makeEndpoints(),
    since: el('span'),
    plots: PLOTS.map(({ title, kind }) => makePlot(title, kind)),
  };
  const head = el('header', {}, el('h2', {}, upstream), parts.state, parts.models, parts.pips.root);
  const gate = el(
    'section',
    { class: 'gate', 'aria-label': 'Admission' },
    parts.saturation,
    parts.bar.root,
    parts.queue.root,
  );
  const engines = el('section', { 'aria-label': 'Endpoints' }, parts.endpoints.root);
  const plots = el('div', { class: 'plots' }, ...parts.plots.map(({ root }) => root));
  const span = el('p', { class: 'muted span' }, parts.since, el('span', {}, 'now'));
  const past = el('section', { class: 'past', 'aria-label': 'The last minutes' }, plots, span);
  const root = el('article', { class: 'card upstream', 'aria-label': `Upstream ${upstream}` }, head);
  root.append(el('div', { class: 'body' }, gate, engines, past));
  return { root, ...parts };
}

/** `about`: what the configuration says of it; `house`: of all. */
export function setUpstream(part, view, about, house, history) {
  const condition = conditionOf(view, history);
  say(part.models, [about.engine, ...about.models].join(' · '));
  say(part.state, condition.word);
  mark(part.state, 'data-tone', condition.tone);
  mark(part.root, 'data-quiet', condition.quiet);
  part.pips.set(view.inUse, view.elsewhere, view.limit);
  say(part.saturation, saturationWords(view));
  part.bar.set(view.saturation, ceilingsOf(house.bands, view.bands));
  part.queue.set(view.bands, house.tests, placesOf(about, house));
  part.endpoints.set(view, about);
}

/** By band, how many of an endpoint's places its ceiling lets it see taken, in words. */
const placesOf = ({ perEndpoint }, { bands }) =>
  new Map(
    bands.map(({ name, ceiling }) => [
      name,
      `up to ${Math.min(perEndpoint, Math.floor(ceiling * perEndpoint + 1e-9))} of ${perEndpoint} places`,
    ]),
  );

const saturationWords = ({ saturation, endpoints }) =>
  endpoints.length > 1
    ? `Saturation ${percent(saturation)}, of the endpoint that is least full`
    : `Saturation ${percent(saturation)}`;

/** In one word; quiet: nothing is to be seen. */
function conditionOf({ upstream, waiting, requests, endpoints }, history) {
  const bad = endpoints.filter(({ state, degraded, down }) => down || degraded || state === 'stale');
  if (bad.length > 0)
    return { word: bad.length === endpoints.length ? 'in trouble' : 'partly in trouble', tone: 'bad' };
  if (waiting > 0) return { word: 'requests wait', tone: 'warn' };
  if (requests > 0) return { word: 'running', tone: 'good' };
  const observed = endpoints.some(({ state }) => state !== 'unobserved');
  const silent = ['running', 'served', 'rejected'].every((name) => history.of(upstream, name).every((one) => !one));
  return { word: 'idle', tone: '', quiet: !observed && silent };
}

/** Draws the last minutes anew: only when a sample has come. */
export function drawUpstream(part, about, history) {
  say(part.since, `${duration(history.spanMs)} ago`);
  PLOTS.forEach(({ series, limit, least = 1, rate, format, optional, sparse, exception }, at) => {
    const plot = part.plots[at];
    const raw = history.of(about.upstream, series);
    const seconds = history.everyMs / 1000;
    const values = rate ? raw.map((one) => (one === null ? null : one / seconds)) : raw;
    plot.root.hidden = (optional && values.every((one) => one === null)) || (exception && values.every((one) => !one));
    if (plot.root.hidden) return;
    const bound = limit?.(about);
    plot.draw(sparse ? filled(values) : values, {
      width: history.width,
      spanMs: history.spanMs,
      least,
      at: bound,
      format,
    });
  });
}

/** A moment in which none came shows the one before it, as a stair. */
function filled(values) {
  let last = null;
  return values.map((one) => (last = one ?? last));
}
