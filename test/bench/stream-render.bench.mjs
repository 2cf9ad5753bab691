// What a stream costs on its way through the OpenAI rendering, against doing nothing and against other ways to look.
// Wants a build: npm run build && node test/bench/stream-render.bench.mjs [dist]
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { scaled } from './scale.mjs';

const dist = pathToFileURL(`${resolve(process.argv[2] ?? 'dist')}/`);
const { OpenAiRendering } = await import(new URL('modules/dialects/core/openai/open-ai-rendering.js', dist));
const { renderOpenAiProblem } = await import(new URL('modules/dialects/core/openai-problem.js', dist));
const { GatewayProblem } = await import(new URL('common/problem/gateway-problem.js', dist));

const ROUNDS = scaled(5);
const CALLS = scaled(200_000);

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

const first = event({ role: 'assistant', content: 'a' });
const plain = event({ content: ' winds' });
const long = event({ content: 'winds '.repeat(300) });
const spaced = Buffer.from(plain.toString().replaceAll('":', '": '));
const withNulls = event({ role: null, content: ' winds', reasoning_content: null, tool_calls: null }, { usage: null });
const tool = event({ tool_calls: [{ index: 0, function: { arguments: 'x' } }] });
const pair = Buffer.concat([plain, plain]);
const context = { requestId: '0b6f3a52-6f5e-4d0c-9c3e-111111111111', problemBase: 'https://api.example/problems/' };

const rendering = (engine = 'vllm') => {
  const made = new OpenAiRendering({
    engine,
    operation: 'chat',
    model: 'demo-chat',
    stream: true,
    choices: 1,
    usageWanted: false,
    usageAdded: true,
    vectors: 'float',
    context,
    createdSeconds: 1760000000,
  });
  made.begin(200, { 'content-type': 'text/event-stream' });
  made.push(first);
  return made;
};

function measure(name, run) {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = process.hrtime.bigint();
    for (let call = 0; call < CALLS; call += 1) run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / CALLS);
  }
  console.log(`${name.padEnd(58)} ${best.toFixed(0).padStart(7)} ns`);
}

const pushed = (chunk) => {
  const one = rendering();
  return () => one.push(chunk);
};

let sink = 0;
measure('nothing', () => {
  sink += plain.length;
});
measure(`push: plain event (${plain.length} B)`, pushed(plain));
measure(`push: plain event, spaced JSON (${spaced.length} B)`, pushed(spaced));
measure(`push: plain event full of nulls (${withNulls.length} B)`, pushed(withNulls));
measure(`push: plain event (${long.length} B)`, pushed(long));
measure(`push: two plain events in one piece (${pair.length} B)`, pushed(pair));
{
  const one = rendering();
  const halves = [plain.subarray(0, 90), plain.subarray(90)];
  measure('push: plain event in two pieces', () => {
    one.push(halves[0]);
    one.push(halves[1]);
  });
}
measure(`push: tool call fragment (${tool.length} B)`, pushed(tool));
const needles = ['"choices":[', '"finish_reason":"', '"tool_calls"', '"usage"', '"error"'].map((needle) =>
  Buffer.from(needle),
);
measure('instead: five searches of the buffer', () => {
  for (const needle of needles) sink += plain.indexOf(needle);
});
measure('instead: decode and JSON.parse', () => {
  sink += JSON.parse(plain.toString('utf8', 6)).choices.length;
});
measure('a rendering, made and begun', () => {
  sink += rendering().wholeLimitBytes;
});
{
  const problem = new GatewayProblem('queue-full', { detail: 'The queue of band gold is full.', retryAfterSeconds: 5 });
  measure('a rejection, rendered', () => {
    sink += renderOpenAiProblem(problem, context).body.length;
  });
}
if (sink === 0) throw new Error('nothing was measured');
