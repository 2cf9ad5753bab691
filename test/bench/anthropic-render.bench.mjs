// What a chunk costs that is translated into the Messages dialect, against the same chunk handed on by the OpenAI
// rendering, alone and with what any relay has to do for it: a read, a write, and the framing of both.
// Wants a build: npm run build && node test/bench/anthropic-render.bench.mjs [dist]
import { createServer, request as httpRequest } from 'node:http';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { scaled } from './scale.mjs';

const dist = pathToFileURL(`${resolve(process.argv[2] ?? 'dist')}/`);
const core = (path) => import(new URL(`modules/dialects/core/${path}`, dist));
const { OpenAiRendering } = await core('openai/open-ai-rendering.js');
const { AnthropicRendering } = await core('anthropic/anthropic-rendering.js');
const { NativeRendering } = await core('native-rendering.js');
const { NativeMessageWords } = await core('anthropic/native-words.js');

const ROUNDS = scaled(5);
const CALLS = scaled(200_000);
const STREAMED = scaled(20_000);
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

const context = { requestId: '0b6f3a52-6f5e-4d0c-9c3e-111111111111', problemBase: 'https://api.example/problems/' };

const openAi = () =>
  begun(
    new OpenAiRendering({
      engine: 'vllm',
      operation: 'chat',
      model: 'demo-chat',
      stream: true,
      choices: 1,
      usageWanted: false,
      usageAdded: true,
      vectors: 'float',
      context,
      createdSeconds: 1760000000,
    }),
  );
const messages = () =>
  begun(
    new AnthropicRendering({ model: 'demo-chat', stream: true, thinking: 'shown', estimatedInputTokens: 100, context }),
  );
const native = () => begun(new NativeRendering(new NativeMessageWords(context)));

function begun(rendering) {
  rendering.begin(200, SSE);
  rendering.push(event({ role: 'assistant', content: 'a' }));
  return rendering;
}

function measure(name, run) {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = process.hrtime.bigint();
    for (let call = 0; call < CALLS; call += 1) run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / CALLS);
  }
  console.log(`${name.padEnd(62)} ${best.toFixed(0).padStart(7)} ns`);
  return best;
}

const pushed = (make, chunk) => {
  const rendering = make();
  return () => rendering.push(chunk);
};

const plain = event({ content: ' winds' });
const long = event({ content: 'winds '.repeat(300) });
const thought = event({ reasoning_content: ' winds' });
const withNulls = event({ role: null, content: ' winds', reasoning_content: null, tool_calls: null }, { usage: null });

console.log('the renderings alone');
for (const [name, chunk] of Object.entries({ plain, withNulls, long, thought })) {
  measure(`  handed on: ${name} (${chunk.length} B)`, pushed(openAi, chunk));
  measure(`  translated: ${name} (${chunk.length} B)`, pushed(messages, chunk));
}
{
  const rendering = messages();
  const halves = [plain.subarray(0, 90), plain.subarray(90)];
  measure('  translated: plain, in two pieces', () => {
    rendering.push(halves[0]);
    rendering.push(halves[1]);
  });
}
{
  const rendering = messages();
  rendering.push(event({ tool_calls: [{ index: 0, id: 'c', function: { name: 'a', arguments: '' } }] }));
  const piece = event({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] });
  measure(`  translated: a piece of a tool call (${piece.length} B)`, () => rendering.push(piece));
}
{
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' winds' } };
  const chunk = Buffer.from(`event: content_block_delta\ndata: ${JSON.stringify(delta)}\n\n`);
  measure(`  native, handed on (${chunk.length} B)`, pushed(native, chunk));
}

/** CPU of this process for each chunk of a stream that an engine in it writes and a relay in it hands on, in µs. */
async function throughRelay(make) {
  const engine = createServer((_request, response) => void pour(response));
  const relay = createServer((_request, response) => {
    const rendering = make();
    response.writeHead(200, SSE);
    httpRequest({ port: engine.address().port }, (upstream) => {
      upstream.on('data', (chunk) => {
        const bytes = rendering.push(chunk);
        if (bytes.length > 0) response.write(bytes);
      });
      upstream.on('end', () => response.end());
    }).end();
  });
  await Promise.all(
    [engine, relay].map((server) => new Promise((listening) => server.listen(0, '127.0.0.1', listening))),
  );
  const { user, system } = process.cpuUsage();
  await new Promise((done) => {
    httpRequest({ port: relay.address().port }, (answer) => answer.on('data', () => undefined).on('end', done)).end();
  });
  const used = process.cpuUsage();
  engine.close();
  relay.close();
  return (used.user - user + used.system - system) / STREAMED;
}

/** One chunk at a time, each in a write and a turn of its own. */
async function pour(response) {
  response.writeHead(200, SSE);
  for (let sent = 0; sent < STREAMED; sent += 1) {
    response.write(plain);
    await new Promise((next) => setImmediate(next));
  }
  response.end();
}

console.log('\nwith a socket on either side (engine and client included, the same for both)');
const best = { handed: Infinity, translated: Infinity };
for (let round = 0; round < ROUNDS; round += 1) {
  best.handed = Math.min(best.handed, await throughRelay(openAi));
  best.translated = Math.min(best.translated, await throughRelay(messages));
}
console.log(`  handed on ${best.handed.toFixed(1)} µs, translated ${best.translated.toFixed(1)} µs a chunk`);
console.log(`  translated : handed on = ${(best.translated / best.handed).toFixed(2)}`);
