// What the relay itself costs a request and a chunk: between an engine that answers at once and a socket that swallows
// all, against the same bytes written to the same response by hand.
// Wants a build: npm run build && node test/bench/relay.bench.mjs [dist]
import { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scaled } from './scale.mjs';

const dist = pathToFileURL(`${resolve(process.argv[2] ?? 'dist')}/`);
const built = (path) => import(new URL(path, dist));
const { systemClock } = await built('common/clock.js');
const { RequestRecord } = await built('common/request-record.js');
const { Exchange } = await built('modules/proxy/exchange.js');
const { Relay } = await built('modules/proxy/relay.js');
const { OpenAiRendering } = await built('modules/dialects/core/openai/open-ai-rendering.js');

const ROUNDS = scaled(9);
const REQUESTS = scaled(5_000, 20);
const STREAMS = scaled(100, 2);
const CHUNKS = 500;

const JSON_HEADERS = { 'content-type': 'application/json' };
const SSE_HEADERS = { 'content-type': 'text/event-stream' };
const choice = (more) => ({ index: 0, logprobs: null, finish_reason: null, ...more });
const answer = (object, choices) =>
  JSON.stringify({ id: 'chatcmpl-71', object, created: 1760000000, model: 'demo-chat', choices });
const WHOLE = [
  Buffer.from(
    answer('chat.completion', [
      choice({ message: { role: 'assistant', content: 'word '.repeat(65) }, finish_reason: 'stop' }),
    ]),
  ),
];
const event = (more) => Buffer.from(`data: ${answer('chat.completion.chunk', [choice(more)])}\n\n`);
const STREAM = [
  ...new Array(CHUNKS - 2).fill(event({ delta: { content: ' winds' } })),
  event({ delta: {}, finish_reason: 'stop' }),
  Buffer.from('data: [DONE]\n\n'),
];

/** A client that takes whatever it is sent. */
class SwallowingSocket extends Duplex {
  _read() {}
  _write(_bytes, _encoding, done) {
    done();
  }
  _writev(_pieces, done) {
    done();
  }
  setTimeout() {
    return this;
  }
}

/** An engine client whose engine answers all at once. */
const engineThatAnswers = (headers, pieces) => ({
  dispatch(_target, _call, handler) {
    const controller = { pause() {}, resume() {}, abort() {} };
    handler.onRequestStart(controller, {});
    handler.onResponseStart(controller, 200, headers);
    for (const piece of pieces) handler.onResponseData(controller, piece);
    handler.onResponseEnd(controller, {});
  },
});

const slot = {
  endpoint: undefined,
  waitedMs: 0,
  estimatedPromptTokens: 200,
  reservation: { fields: [], settle() {}, [Symbol.dispose]() {} },
  firstToken() {},
  settle() {},
};
const call = { method: 'POST', path: '/v1/chat/completions', headers: [], body: Buffer.from('{}') };
const destination = { upstream: { name: 'engine' }, timeouts: { connectMs: 1000, readMs: 60_000, writeMs: 60_000 } };
const context = { requestId: '0b6f3a52-6f5e-4d0c-9c3e-111111111111', problemBase: 'https://api.example/problems/' };
const listener = {
  clock: systemClock,
  bodyMemory: { giveBack() {} },
  bodyTimeoutMs: 60_000,
  heartbeats: { watch() {}, unwatch() {} },
  closing: false,
};

function openResponse() {
  const socket = new SwallowingSocket();
  const request = new IncomingMessage(socket);
  Object.assign(request, { method: 'POST', url: call.path, httpVersionMajor: 1, httpVersionMinor: 1, complete: true });
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  return { request, response };
}

const rendering = (stream) =>
  new OpenAiRendering({
    ...{ engine: 'vllm', operation: 'chat', model: 'demo-chat', stream, choices: 1 },
    ...{ usageWanted: false, usageAdded: false, vectors: 'float', context, createdSeconds: 1760000000 },
  });

async function relayed(relay, stream) {
  const { request, response } = openResponse();
  const record = new RequestRecord(context.requestId, systemClock.now(), () => undefined);
  const exchange = new Exchange(request, response, record, { address: '127.0.0.1', trusted: false }, listener);
  await relay.send(slot, destination, call, exchange, rendering(stream));
  if (record.status !== 200) throw new Error(`the relay answered ${record.status}`);
}

function written(headers, pieces) {
  const { response } = openResponse();
  response.writeHead(200, headers);
  for (const piece of pieces) response.write(piece);
  response.end();
}

/** Microseconds a unit, the best round of each, taken in turn. */
async function compare(label, calls, units, ways) {
  const best = ways.map(() => Infinity);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [at, way] of ways.entries()) {
      const startedAt = process.hrtime.bigint();
      for (let one = 0; one < calls; one += 1) {
        await way();
        // As between two requests of a real connection: what waits for the end of this one has its turn.
        if (one % 16 === 0) await nextTurn();
      }
      best[at] = Math.min(best[at], Number(process.hrtime.bigint() - startedAt) / 1000 / calls / units);
    }
  }
  const [own, byHand] = best;
  console.log(
    `${label.padEnd(28)} relayed ${own.toFixed(2).padStart(7)} µs   by hand ${byHand.toFixed(2).padStart(7)} µs   ${(own / byHand).toFixed(2)}`,
  );
}

const wholeRelay = new Relay(engineThatAnswers(JSON_HEADERS, WHOLE));
const streamRelay = new Relay(engineThatAnswers(SSE_HEADERS, STREAM));
await compare('a whole answer', REQUESTS, 1, [() => relayed(wholeRelay, false), () => written(JSON_HEADERS, WHOLE)]);
await compare(`a chunk of a stream (${STREAM[0].length} B)`, STREAMS, CHUNKS, [
  () => relayed(streamRelay, true),
  () => written(SSE_HEADERS, STREAM),
]);
