/** The page: it listens to the gateway, and shows what it hears. */
import { mark, say, sync } from './dom.js';
import { setGlance, setNotices } from './glance.js';
import { History } from './history.js';
import { requestIn, hrefOf } from './request-link.js';
import { describeEnded, describeRejection, describeRunning, setRequests } from './requests.js';
import { sharingWords } from './sharing.js';
import { fetchStories, makeStory } from './story.js';
import { drawUpstream, makeUpstream, setUpstream } from './upstream.js';
import { clockTime, duration } from './words.js';

/** Without news for so long the connection is taken for dead, whatever the browser believes. */
const SILENCE_MS = 6000;
/** A browser comes back by itself, but not after an answer that is no stream. */
const RETRY_MS = 4000;

const id = (name) => document.getElementById(name);
const history = new History();
let about;
let lastNewsAt;
let connectedAt;
let events;

function connect() {
  events?.close();
  connectedAt = Date.now();
  events = new EventSource('api/events');
  events.addEventListener('about', ({ data }) => {
    about = JSON.parse(data);
    void showStory();
  });
  events.addEventListener('history', ({ data }) => {
    history.replace(JSON.parse(data));
    drawAll = true;
  });
  events.addEventListener('snapshot', ({ data }) => show(JSON.parse(data)));
  events.addEventListener('error', () => {
    disconnected();
    if (events.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
  });
}

let drawAll = false;

function show(snapshot) {
  lastNewsAt = Date.now();
  const redraw = history.add(snapshot.sample) || drawAll;
  drawAll = false;
  setLink('live', snapshot.state === 'draining' ? 'Draining' : 'Live');
  say(id('gateway-name'), nameOf(snapshot));
  setGlance(id('glance'), snapshot, history);
  setNotices(id('notices'), snapshot, about);
  say(id('sharing'), sharingWords(about, snapshot));
  showUpstreams(snapshot, redraw);
  setRequests(id('rejections'), id('rejections-none'), snapshot.rejections, describeRejection(about.reasons));
  setRequests(id('running'), id('running-none'), snapshot.running.longest, describeRunning);
  setRequests(id('recent'), id('recent-none'), snapshot.recent, describeEnded);
  say(
    id('running-count'),
    snapshot.running.count > snapshot.running.longest.length ? `longest of ${snapshot.running.count}` : '',
  );
  if (storyIsLive) void showStory();
}

const nameOf = ({ gateway, atMs }) =>
  `${gateway.host} · process ${gateway.pid} · up ${duration(atMs - gateway.startedAtMs)}`;

function showUpstreams({ upstreams }, redraw) {
  const aboutOf = new Map(about.upstreams.map((one) => [one.upstream, one]));
  const known = upstreams.filter(({ upstream }) => aboutOf.has(upstream));
  sync(
    id('upstreams'),
    known,
    ({ upstream }) => upstream,
    makeUpstream,
    (part, view) => {
      const configured = aboutOf.get(view.upstream);
      setUpstream(part, view, configured, about, history);
      if (redraw) drawUpstream(part, configured, history);
    },
  );
}

function disconnected() {
  const since = lastNewsAt === undefined ? '' : `; the figures are of ${clockTime(lastNewsAt)}`;
  setLink('lost', `Disconnected${since}`);
}

function setLink(state, text) {
  mark(document.body, 'data-link', state);
  say(id('link'), text);
}

const story = makeStory(id('story'), closeStory);
let storyIsLive = false;
let shownId;

/** Shows the request that the address names, if it names one. */
async function showStory() {
  const wanted = requestIn(location.hash);
  const section = id('story');
  // Until it is there, another one's story is not shown in its place.
  section.hidden = wanted === undefined || wanted !== shownId;
  if (wanted === undefined) {
    storyIsLive = false;
    shownId = undefined;
    return;
  }
  const found = await fetchStories(wanted).catch(() => undefined);
  // The address may have changed meanwhile.
  if (found === undefined || requestIn(location.hash) !== wanted) return;
  storyIsLive = found.stories.some(({ live }) => live);
  story.show(found, about?.tests ?? {});
  section.hidden = false;
  if (shownId === wanted) return;
  shownId = wanted;
  id('request-id').value = wanted;
  story.open(wanted);
}

function closeStory() {
  location.hash = '';
  id('request-id').focus();
}

id('find').addEventListener('submit', (event) => {
  event.preventDefault();
  const wanted = id('request-id').value.trim();
  const href = wanted === '' ? '' : hrefOf(wanted);
  if (location.hash === href) void showStory();
  else location.hash = href;
});
window.addEventListener('hashchange', () => void showStory());
setInterval(() => {
  if (lastNewsAt === undefined || Date.now() - lastNewsAt < SILENCE_MS) return;
  disconnected();
  // The browser thinks that it is still connected.
  if (events.readyState === EventSource.OPEN && Date.now() - connectedAt > SILENCE_MS) connect();
}, 1000);
connect();
void showStory();
