// What a chunk costs that is translated into the Responses dialect, against the same chunk translated into the Messages
// dialect: in turn, in one run, so that noise meets both.
// Wants a build: npm run build && node test/bench/responses-render.bench.mjs [dist]
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { scaled, shortened } from './scale.mjs';

const dist = pathToFileURL(`${resolve(process.argv[2] ?? 'dist')}/`);
const core = (path) => import(new URL(`modules/dialects/core/${path}`, dist));
const { AnthropicRendering } = await core('anthropic/anthropic-rendering.js');
const { ResponsesRendering } = await core('responses/responses-rendering.js');

const ROUNDS = scaled(9);
const CHUNKS_A_ROUND = scaled(80_000, 1_000);
const LIMIT = 1.3;
const SSE = { 'content-type': 'text/event-stream' };

const event = (delta, more = {}) =>
  Buffer.from(
    `data: ${JSON.stringify({
      id: 'chatcmpl-71',
      object: 'chat.completion.chunk',
      created: 1760000000,
      model: 'demo-chat',
      choices: [{ index: 0, delta, logprobs: null, finish_reason: null }],
      ...more,
    })}\n\n`,
  );
const DONE = Buffer.from('data: [DONE]\n\n');

const context = { requestId: '0b6f3a52-6f5e-4d0c-9c3e-111111111111', problemBase: 'https://api.example/problems/' };
const terms = { model: 'demo-chat', stream: true, estimatedInputTokens: 100, context };
const DIALECTS = {
  messages: () => new AnthropicRendering({ ...terms, thinking: 'shown' }),
  responses: () => new ResponsesRendering({ ...terms, createdSeconds: 1760000000, settings: '"store":false' }),
};

const call = { index: 0, id: 'c', function: { name: 'a', arguments: '{"x":"' } };
const KINDS = {
  text: { first: event({ role: 'assistant', content: 'a' }), chunk: event({ content: ' winds' }) },
  'text with nulls': {
    first: event({ role: 'assistant', content: 'a' }),
    chunk: event({ role: null, content: ' winds', reasoning_content: null, tool_calls: null }, { usage: null }),
  },
  'long text': { first: event({ content: 'a' }), chunk: event({ content: 'winds '.repeat(300) }), chunks: 40 },
  thinking: { first: event({ reasoning_content: 'a' }), chunk: event({ reasoning_content: ' winds' }) },
  'tool call': {
    first: event({ tool_calls: [call] }),
    chunk: event({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] }),
    last: event({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }),
  },
};

/** Nanoseconds a chunk, in answers of so many. `ends`: with the events of their beginning and their end. */
function nanosecondsOf(make, { first, chunk, last, chunks = 1_000 }, ends) {
  let spent = 0n;
  for (let answer = 0; answer < CHUNKS_A_ROUND / chunks; answer += 1) {
    const start = process.hrtime.bigint();
    const rendering = make();
    rendering.begin(200, SSE);
    rendering.push(first);
    const begun = process.hrtime.bigint();
    for (let at = 0; at < chunks; at += 1) rendering.push(chunk);
    const ended = process.hrtime.bigint();
    if (last !== undefined) rendering.push(last);
    rendering.push(DONE);
    spent += ends ? process.hrtime.bigint() - start : ended - begun;
  }
  return Number(spent) / CHUNKS_A_ROUND;
}

/** How much dearer the Responses dialect is, at most. */
function compare(ends) {
  let worst = 0;
  for (const [kind, chunks] of Object.entries(KINDS)) {
    const best = { messages: Infinity, responses: Infinity };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [dialect, make] of Object.entries(DIALECTS))
        best[dialect] = Math.min(best[dialect], nanosecondsOf(make, chunks, ends));
    }
    const ratio = best.responses / best.messages;
    worst = Math.max(worst, ratio);
    const shown = Object.entries(best).map(([dialect, ns]) => `${dialect} ${ns.toFixed(0).padStart(5)} ns`);
    console.log(`  ${`${kind} (${chunks.chunk.length} B)`.padEnd(26)} ${shown.join('   ')}   ${ratio.toFixed(2)}`);
  }
  return worst;
}

console.log('a chunk of an answer under way');
const worst = compare(false);
console.log('the same, with its share of the beginning and the end, which says all of the answer four times more');
compare(true);
console.log(`\nresponses : messages at most ${worst.toFixed(2)} a chunk, allowed ${LIMIT}`);
// A shortened run measures the compiler.
if (worst > LIMIT && !shortened) process.exitCode = 1;
