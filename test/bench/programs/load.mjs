// The load generator: takes orders over its IPC channel, one at a time, and tells what they came to. It stays for a whole
// run, so that it is as warm as what it measures. All traffic goes to 127.0.0.1.
import { setTimeout as delay } from 'node:timers/promises';
import { chatRequest } from './chat-requests.mjs';
import { nowMicros } from './clock.mjs';
import { ClosedLoop } from './closed-loop.mjs';
import { HttpConnection, requestBytes } from './http-connection.mjs';
import { StreamReader } from './stream-reader.mjs';

const OPENED_TOGETHER = 50;
const LEAVE_APART_MS = 5;
const LOOK_EVERY_MS = 100;

/** Streams that an order left open. */
let held = [];

function summaryOf(samples) {
  const sorted = Float64Array.from(samples).sort();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { p50: at(0.5), p99: at(0.99) };
}

/** One request after the other on each of so many connections. */
async function unary({ to, connections, model, bodyBytes, ...terms }) {
  const loop = new ClosedLoop(to.port, chatRequest(to, { ...(model && { model }), bodyBytes }), terms);
  await loop.run(connections);
  return { units: loop.latencies.length, errors: loop.errors, latencyMicros: summaryOf(loop.latencies) };
}

/** So many streams at once, each to its end. */
async function stream({ to, connections, chunks, delayMs, dialect }) {
  const request = chatRequest(to, { model: `stub-${delayMs}ms`, stream: true, max_tokens: chunks });
  const streams = Array.from({ length: connections }, () => new StreamReader(to.port, request, dialect));
  const whole = await Promise.all(streams.map(({ done }) => done));
  const units = streams.reduce((sum, { tokens }) => sum + tokens, 0);
  const errors = streams.filter(({ tokens }, at) => !whole[at] || tokens !== chunks).length;
  const delays = streams.flatMap((each) => each.delays);
  return { units, errors, delayMicros: summaryOf(delays) };
}

/** Opens a stream for each request, a few at a time; how many have begun, or with `begun: false` have been asked for. */
async function open(to, requests, begun = true) {
  const streams = [];
  for (let at = 0; at < requests.length; at += OPENED_TOGETHER) {
    const some = requests.slice(at, at + OPENED_TOGETHER).map((request) => new StreamReader(to.port, request));
    streams.push(...some);
    await Promise.all(some.map(({ first, sent }) => (begun ? first : sent)));
  }
  const answers = begun ? await Promise.all(streams.map(({ first }) => first)) : streams.map(() => true);
  return { streams, opened: answers.filter(Boolean).length };
}

/** Streams that stay open until `release`. */
async function hold({ to, connections, model, begun }) {
  const request = chatRequest(to, { model, stream: true, max_tokens: 500 });
  const { streams, opened } = await open(to, new Array(connections).fill(request), begun);
  held.push(...streams);
  return { opened };
}

function release() {
  for (const one of held) one.leave();
  held = [];
  return {};
}

/** Opens streams and leaves them one by one; how long the engine took to notice, and how often it did. */
async function leave({ to, enginePort, connections, delayMs, patienceMs }) {
  const users = Array.from({ length: connections }, (_, at) => `leaves-${nowMicros()}-${at}`);
  const requestOf = (user) => chatRequest(to, { model: `stub-${delayMs}ms`, stream: true, max_tokens: 500, user });
  const { streams, opened } = await open(to, users.map(requestOf));
  const leftAt = new Map();
  for (const [at, one] of streams.entries()) {
    leftAt.set(users[at], nowMicros());
    one.leave();
    await delay(LEAVE_APART_MS);
  }
  const seen = [];
  for (let waitedMs = 0; waitedMs < patienceMs && seen.length < opened; waitedMs += LOOK_EVERY_MS) {
    await delay(LOOK_EVERY_MS);
    for (const [user, at] of await abortsOf(enginePort)) if (leftAt.has(user)) seen.push(at - leftAt.get(user));
  }
  return { opened, noticed: seen.length, delayMicros: summaryOf(seen) };
}

function abortsOf(port) {
  return new Promise((resolve, reject) => {
    const connection = new HttpConnection(port);
    const parts = [];
    connection.send(requestBytes({ method: 'GET', path: '/bench/aborts', port }), {
      onData: (bytes) => parts.push(bytes),
      onEnd: () => {
        connection.destroy();
        resolve(JSON.parse(Buffer.concat(parts)));
      },
      onError: reject,
    });
  });
}

/** Streams that are left as soon as they have begun, one after the other on each of so many connections. */
async function abort({ to, connections, requests, seconds, dialect }) {
  const request = chatRequest(to, { model: 'stub-20ms', stream: true, max_tokens: 500 });
  const deadline = nowMicros() + seconds * 1e6;
  let left = requests;
  let units = 0;
  const worker = async () => {
    while (left > 0 && nowMicros() < deadline) {
      left -= 1;
      const one = new StreamReader(to.port, request, dialect);
      const begun = await one.first;
      one.leave();
      if (begun) units += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return { units, errors: requests - units };
}

const KINDS = { unary, stream, hold, release, leave, abort };

process.on('message', ({ id, kind, order }) => {
  Promise.resolve(KINDS[kind](order)).then(
    (result) => process.send({ id, result }),
    (error) => process.send({ id, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());
