/** One request's story: what happened to it, and where its time went. */
import { el, say } from './dom.js';
import { bytes, clockTime, duration, plural, spaced, whole } from './words.js';

/** Asks the gateway. Rejects where it cannot be asked. */
export async function fetchStories(requestId) {
  const response = await fetch(`api/requests?id=${encodeURIComponent(requestId)}`);
  if (response.status === 400) return { id: requestId, stories: [], invalid: true };
  if (!response.ok) throw new Error(`the gateway answered ${response.status}`);
  return response.json();
}

/** The place of a story: `{ open(id), show(found, tests) }`. */
export function makeStory(section, onClose) {
  const name = el('span', { class: 'mono' });
  const title = el('h2', { id: 'story-title', tabindex: '-1' }, 'Request ', name);
  const close = el('button', { type: 'button' }, 'Close');
  const body = el('div');
  close.addEventListener('click', onClose);
  section.append(el('header', {}, title, close), body);
  return {
    open(id) {
      say(name, id);
      title.focus();
    },
    /** Draws it anew: it is one person's question, and small. */
    show({ stories, silent, invalid }, tests) {
      const parts = stories.map((story) => storyPart(story, tests));
      if (parts.length === 0) parts.push(el('p', { class: 'empty' }, invalid ? NOT_AN_ID : NOT_KNOWN));
      if (silent > 0)
        parts.push(
          el('p', { class: 'why' }, `${plural(silent, 'worker')} did not answer: what is known there is not here.`),
        );
      body.replaceChildren(...parts);
    },
  };
}

const NOT_AN_ID = 'That is no request id: 1 to 128 letters, digits, dots, dashes and underscores are.';
const NOT_KNOWN = 'No request with this id runs or is among the last ones that ended. An older one is in the log.';

function storyPart(story, tests) {
  const { live, dialect, operation, method, route, model, traceId, worker } = story;
  const head = el('p', { class: 'story-head' }, el('b', {}, live ? 'runs' : endWord(story)));
  const facts = [
    dialect && `${dialect} ${operation}`,
    `${method} ${route}`,
    model,
    worker && `worker ${worker}`,
    traceId && `trace ${traceId}`,
  ];
  head.append(' ', el('span', { class: 'muted' }, facts.filter(Boolean).join(' · ')));
  const steps = el('ol', { class: 'steps' }, ...story.steps.map((step) => stepPart(step, story, tests)));
  if (live) steps.append(line(story.tookMs, liveWords(story, tests), 'now'));
  return el('div', { class: 'story-body' }, head, timeBar(story), steps, el('p', { class: 'muted' }, totals(story)));
}

const endWord = ({ status }) => (status === 499 ? 'client left' : `ended with ${status}`);

function stepPart({ what, afterMs, facts }, story, tests) {
  return line(afterMs, WORDS[what]?.(facts, story, tests) ?? what, what);
}

function line(afterMs, text, kind) {
  const when = el('span', { class: 'when' }, afterMs === undefined ? '' : `+${duration(afterMs)}`);
  return el('li', { 'data-step': kind }, when, el('span', {}, text));
}

const WORDS = {
  arrived: ({ route, peer }, { arrivedAtMs }) => `arrived at ${clockTime(arrivedAtMs)} for ${route}, from ${peer}`,
  identified: ({ tenant, band }) => `identified as tenant ${tenant}, band ${band}`,
  queued: ({ upstream, behind }) => `asked for a place on ${upstream}${behindWords(behind)}`,
  held: ({ test }, _story, tests) => `held by ${test}: ${tests[test] ?? 'a test of the admission'}`,
  granted: ({ endpoint, waitedMs }) =>
    `got a place on ${endpoint ?? 'the upstream'} ${waitedMs > 0 ? `after a wait of ${duration(waitedMs)}` : 'at once'}`,
  'first-content': () => 'first content went to the client',
  'engine-ended': ({ outcome }) => `the engine's side ended: ${spaced(outcome ?? 'unknown')}`,
  ended: endWords,
};

function behindWords(behind) {
  if (behind === undefined) return '';
  return behind === 0
    ? '; it had to wait, first of its band'
    : `; it had to wait behind ${plural(behind, 'other')} of its band`;
}

function endWords({ status, reason, why, title, clientGone, phase, completionTokens }) {
  if (clientGone) return `the client left while the request was ${PHASE_WORDS[phase] ?? phase}`;
  if (reason !== undefined)
    return `ended with ${status}: ${title} (${reason}${why === undefined ? '' : `: ${spaced(why)}`})`;
  return `ended with ${status}${completionTokens === undefined ? '' : `, ${plural(completionTokens, 'token')} generated`}`;
}

const PHASE_WORDS = {
  head: 'arriving',
  upload: 'uploading',
  queued: 'waiting for a place',
  waiting: 'waiting for the engine',
  streaming: 'streaming',
  done: 'ending',
};

function liveWords({ phase, waitedMs, heldBy }, tests) {
  if (phase !== 'queued') return `still ${PHASE_WORDS[phase] ?? phase}`;
  const why =
    heldBy === undefined
      ? ': others of its band are before it'
      : `, held by ${heldBy}: ${tests[heldBy] ?? 'a test of the admission'}`;
  return `still waiting for a place since ${duration(waitedMs)}${why}`;
}

/** Where the time went, as one bar. */
function timeBar({ steps, tookMs }) {
  const at = (what) => steps.find((step) => step.what === what)?.afterMs;
  const queued = at('queued') ?? tookMs;
  const granted = at('granted') ?? tookMs;
  const first = at('first-content') ?? at('engine-ended') ?? tookMs;
  const spans = [
    { name: 'reading', ms: queued, kind: 'read' },
    { name: 'waiting for a place', ms: granted - queued, kind: 'wait' },
    {
      name: at('first-content') === undefined ? 'at the engine' : 'until the first content',
      ms: first - granted,
      kind: 'run',
    },
    { name: 'answering', ms: tookMs - first, kind: 'out' },
  ].filter(({ ms }) => ms > 0);
  const bar = el('div', { class: 'time-bar', 'aria-hidden': 'true' });
  for (const { ms, kind } of spans) {
    const part = el('i', { class: kind });
    part.style.flexGrow = String(ms);
    bar.append(part);
  }
  const legend = spans.map(({ name, ms, kind }) => el('li', { class: kind }, `${name} ${duration(ms)}`));
  return el('div', {}, bar, el('ul', { class: 'legend' }, ...legend));
}

function totals({
  promptTokens,
  cachedTokens,
  completionTokens,
  estimatedPromptTokens,
  requestBytes,
  responseBytes,
  heartbeats,
}) {
  const parts = [];
  if (promptTokens !== undefined)
    parts.push(
      `${whole(promptTokens)} prompt tokens (${whole(cachedTokens)} cached, estimated ${whole(estimatedPromptTokens ?? 0)})`,
    );
  if (completionTokens !== undefined) parts.push(`${whole(completionTokens)} completion tokens`);
  parts.push(`${bytes(requestBytes)} in, ${bytes(responseBytes)} out`);
  if (heartbeats > 0) parts.push(plural(heartbeats, 'heartbeat'));
  return parts.join(' · ');
}
