/** Who waits, whose turn it is, and what holds the one in front. */
import { el, mark, say, sync } from './dom.js';
import { requestLink } from './request-link.js';
import { duration, plural, short } from './words.js';

/** The lines of an upstream: `{ root, set(bands, about) }`. */
export function makeQueue() {
  const none = el('p', { class: 'empty' }, 'No request waits.');
  const list = el('ul', { class: 'bands' });
  return {
    root: el('div', {}, none, list),
    /** `places`: by band, how many of an endpoint's it may see taken. */
    set(bands, tests, places) {
      const waiting = bands.filter(({ depth }) => depth > 0);
      none.hidden = waiting.length > 0;
      sync(
        list,
        waiting,
        ({ band }) => band,
        makeBand,
        (part, band) => setBand(part, band, tests, places.get(band.band)),
      );
    },
  };
}

function makeBand({ band }) {
  const depth = el('b');
  const oldest = el('span', { class: 'muted' });
  const heads = el('ol', { class: 'heads' });
  const body = el('tbody');
  const head = el('tr', {}, th('Tenant, in order of turn'), th('waiting', 'num'), th('longest wait', 'num'));
  const table = el('table', { class: 'tenants' }, el('thead', {}, head), body);
  const others = el('p', { class: 'muted' });
  const title = el('h3', {}, el('span', { class: 'band' }, band), depth, oldest);
  return { root: el('li', {}, title, heads, table, others), depth, oldest, heads, body, others };
}

const th = (text, kind = '') => el('th', { scope: 'col', class: kind }, text);

function setBand(part, { depth, oldestMs, heads, tenants, others }, tests, places) {
  say(part.depth, plural(depth, 'waits', 'wait'));
  say(part.oldest, `longest ${duration(oldestMs)}${places === undefined ? '' : ` · ${places} an endpoint`}`);
  sync(
    part.heads,
    heads,
    ({ kind }) => kind,
    makeHead,
    (head, one) => setHead(head, one, tests),
  );
  sync(part.body, tenants, ({ tenant }) => tenant, makeTenant, setTenant);
  const rest = `and ${plural(others.tenants, 'more tenant')} with ${plural(others.depth, 'request')}`;
  say(part.others, others.tenants > 0 ? rest : '');
}

function makeHead() {
  const test = el('code');
  const words = el('span');
  const facts = el('span', { class: 'muted' });
  const link = requestLink();
  return {
    root: el(
      'li',
      {},
      el('p', { class: 'holds' }, 'Held by ', test, words),
      el('p', { class: 'of' }, link.root, facts),
    ),
    ...{ test, words, link, facts },
  };
}

function setHead(part, { requestId, tenant, kind, promptTokens, waitedMs, leftMs, heldBy }, tests) {
  say(part.test, heldBy ?? 'nothing yet');
  say(part.words, heldBy === undefined ? '' : `: ${tests[heldBy] ?? 'a test of the admission'}`);
  part.link.set(requestId);
  const size = kind === 'light' ? '' : ` · ${kind} prompt`;
  const facts = `${tenant} · about ${short(promptTokens)} tokens${size} · waited ${duration(waitedMs)}, gives up in ${duration(leftMs)}`;
  say(part.facts, requestId === undefined ? `Next: ${facts}` : facts);
}

function makeTenant({ tenant }) {
  const depth = el('td', { class: 'num' });
  const oldest = el('td', { class: 'num' });
  return { root: el('tr', {}, el('th', { scope: 'row' }, tenant), depth, oldest), depth, oldest };
}

function setTenant(part, { depth, oldestMs }) {
  say(part.depth, depth);
  say(part.oldest, duration(oldestMs));
  mark(part.root, 'data-depth', depth);
}
