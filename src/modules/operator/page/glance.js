/** The whole house in a few numbers and sentences: what it is doing, and what is wrong. */
import { el, mark, say, sync } from './dom.js';
import { sharingNotices } from './sharing.js';
import { duration, plural, whole } from './words.js';

const MINUTE_MS = 60_000;

export function setGlance(list, snapshot, history) {
  const { upstreams, running } = snapshot;
  const queues = upstreams.flatMap(({ bands }) => bands);
  const waiting = queues.reduce((sum, { depth }) => sum + depth, 0);
  const oldest = Math.max(0, ...queues.map(({ oldestMs }) => oldestMs));
  const rejected = history.total('rejected', MINUTE_MS);
  const tiles = [
    { name: 'running', value: whole(running.count - waiting > 0 ? running.count - waiting : 0), tone: '' },
    { name: 'waiting', value: whole(waiting), tone: waiting > 0 ? 'warn' : '' },
    { name: 'longest wait', value: waiting > 0 ? duration(oldest) : '0 s', tone: waiting > 0 ? 'warn' : '' },
    { name: 'turned away or failed, last minute', value: whole(rejected), tone: rejected > 0 ? 'bad' : '' },
    { name: 'served, last minute', value: whole(history.total('served', MINUTE_MS)), tone: '' },
  ];
  sync(list, tiles, ({ name }) => name, makeTile, setTile);
}

function makeTile({ name }) {
  const value = el('dd');
  return { root: el('div', {}, el('dt', {}, name), value), value };
}

function setTile(part, { value, tone }) {
  say(part.value, value);
  mark(part.root, 'data-tone', tone);
}

export function setNotices(list, snapshot, about) {
  const notices = noticesOf(snapshot, about);
  sync(
    list,
    notices,
    ({ key }) => key,
    makeNotice,
    (part, { text, tone }) => {
      say(part.root, text);
      mark(part.root, 'data-tone', tone);
    },
  );
}

const makeNotice = () => ({ root: el('li') });

function noticesOf(snapshot, about) {
  const { state, upstreams, running } = snapshot;
  const notices = sharingNotices(snapshot, about);
  if (state === 'draining')
    notices.push({
      key: 'draining',
      tone: 'warn',
      text: 'Shutting down: running requests end, newcomers go elsewhere.',
    });
  for (const view of upstreams) notices.push(...troubleOf(view));
  for (const view of upstreams) notices.push(...waitsOf(view, about));
  if (notices.length > 0) return notices;
  const text =
    running.count === 0
      ? 'Idle: no request runs, none waits.'
      : `${plural(running.count, 'request runs', 'requests run')}, none waits.`;
  return [{ key: 'calm', tone: 'good', text }];
}

function troubleOf({ upstream, endpoints }) {
  return endpoints.flatMap(({ endpoint, state, degraded, complaint, down }) => {
    const at = `${upstream}, ${endpoint}`;
    if (down) return [{ key: `down ${at}`, tone: 'bad', text: `${at}: refuses connections.` }];
    if (state === 'stale')
      return [
        {
          key: `stale ${at}`,
          tone: 'bad',
          text: `${at}: its gauges are not to be had; they hold nothing back any more.`,
        },
      ];
    if (degraded)
      return [{ key: `degraded ${at}`, tone: 'warn', text: `${at}: ${complaint ?? 'gauges are missing'}.` }];
    return [];
  });
}

function waitsOf({ upstream, bands }, { tests }) {
  return bands.flatMap(({ band, depth, heads }) => {
    const [head] = heads;
    if (depth === 0 || head === undefined) return [];
    const why = head.heldBy === undefined ? 'its turn has not come' : (tests[head.heldBy] ?? head.heldBy);
    const text = `${upstream}: ${plural(depth, 'request')} of ${band} ${depth === 1 ? 'waits' : 'wait'}, because ${why}.`;
    return [{ key: `wait ${upstream} ${band}`, tone: 'warn', text }];
  });
}
