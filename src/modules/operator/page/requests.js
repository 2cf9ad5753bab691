/** Lists of requests, one line each, with a link to the story. */
import { el, mark, say, sync } from './dom.js';
import { requestLink } from './request-link.js';
import { clockTime, duration, spaced, whole } from './words.js';

/** `ids`: those of the list and of what stands there while it is empty. */
export function setRequests(list, none, items, describe) {
  none.hidden = items.length > 0;
  sync(list, items, keyOf, makeLine, (part, item) => setLine(part, item, describe(item)));
}

/** An id may come twice. */
const keyOf = ({ requestId, arrivedAtMs }, at) => `${requestId} ${arrivedAtMs} ${at}`;

function makeLine() {
  const what = el('b');
  const when = el('span', { class: 'when' });
  const facts = el('span', { class: 'muted facts' });
  const link = requestLink();
  return { root: el('li', {}, when, what, link.root, facts), what, when, facts, link };
}

function setLine(part, { requestId }, { what, when, facts, tone }) {
  say(part.what, what);
  say(part.when, when);
  say(part.facts, facts.filter((fact) => fact !== undefined && fact !== '').join(' · '));
  mark(part.root, 'data-tone', tone);
  part.link.set(requestId);
}

const whoseOf = ({ tenant, band }) => (tenant === undefined ? undefined : `${tenant}, ${band}`);
const whereOf = ({ upstream, model, route }) => model ?? (upstream === 'none' ? route : upstream);

/** With its kind, where there are several: of a token or a budget. */
export const reasonWords = (reason, why) => spaced(reason) + (why === undefined ? '' : `: ${spaced(why)}`);

export const describeRejection = (reasons) => (item) => ({
  what: reasonWords(item.reason ?? 'failed', item.why) + (item.times > 1 ? ` ×${whole(item.times)}` : ''),
  when: clockTime(item.arrivedAtMs + item.tookMs),
  tone: isOurs(item) ? 'bad' : '',
  facts: [
    `${item.status} ${reasons[item.reason] ?? ''}`.trim(),
    whoseOf(item),
    whereOf(item),
    item.times > 1 ? `since ${clockTime(item.sinceMs)}` : undefined,
    item.waitedMs > 0 ? `waited ${duration(item.waitedMs)}` : undefined,
    item.waitedMs > 0 && item.heldBy !== undefined ? `held by ${item.heldBy}` : undefined,
  ],
});

/** Not the caller's fault: a 5xx, or a stream that broke after its 200. */
const isOurs = ({ status }) => status < 400 || status >= 500;

function endOf({ status, reason, why }) {
  if (reason !== undefined) return reasonWords(reason, why);
  return status === 499 ? 'client left' : String(status);
}

const PHASES = {
  head: 'arriving',
  upload: 'uploading',
  queued: 'waits',
  waiting: 'at the engine',
  streaming: 'streaming',
  done: 'ending',
};

export const describeRunning = (item) => ({
  what: PHASES[item.phase] ?? item.phase,
  when: duration(item.tookMs),
  tone: item.phase === 'queued' ? 'warn' : '',
  facts: [whoseOf(item), whereOf(item), item.phase === 'queued' ? heldWords(item) : item.endpoint],
});

const heldWords = ({ heldBy }) => (heldBy === undefined ? 'others are before it' : `held by ${heldBy}`);

export const describeEnded = (item) => ({
  what: endOf(item),
  when: clockTime(item.arrivedAtMs + item.tookMs),
  tone: item.reason !== undefined && isOurs(item) ? 'bad' : '',
  facts: [
    item.reason === undefined ? undefined : String(item.status),
    whoseOf(item),
    whereOf(item),
    `took ${duration(item.tookMs)}`,
    item.waitedMs > 0 ? `waited ${duration(item.waitedMs)}` : undefined,
  ],
});
