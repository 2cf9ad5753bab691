// An engine that costs next to nothing: chat completions, a list of models, gauges. Usage: PORT=… node engine.mjs
//
// A stream has max_tokens chunks of about 200 bytes. How long it waits between two stands in the name of the model
// ("stub-20ms"), since some gateways drop the fields that they do not know; without it a stream is as fast as its socket.
// Each chunk says in "sent" at which microsecond it was written.
import { createServer } from 'node:http';
import { nowMicros } from './clock.mjs';

const EVENT_STREAM = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };
const CHUNK_START =
  '{"id":"chatcmpl-stub","object":"chat.completion.chunk","created":1700000000,"model":"stub","choices":[';
const USAGE = '"usage":{"prompt_tokens":200,"completion_tokens":65,"total_tokens":265}';
const LAST_CHUNKS =
  `data: ${CHUNK_START}{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n` +
  `data: ${CHUNK_START}],${USAGE}}\n\n` +
  'data: [DONE]\n\n';
const ANSWER = `{"id":"chatcmpl-stub","object":"chat.completion","created":1700000000,"model":"stub","choices":[{"index":0,"message":{"role":"assistant","content":"${'word '.repeat(65)}"},"finish_reason":"stop","logprobs":null}],${USAGE}}`;
const MODELS = '{"object":"list","data":[{"id":"stub","object":"model","created":1700000000,"owned_by":"stub"}]}';

let running = 0;
/** [user of the request, microsecond] of streams that were left, until somebody asks for them. */
let aborts = [];

const tokenChunk = () =>
  `data: ${CHUNK_START}{"index":0,"delta":{"content":" token"},"finish_reason":null}],"sent":${nowMicros()}}\n\n`;

/** As vLLM writes them; there is room for all that the bench sends. */
const gauges = () =>
  [
    ['vllm:num_requests_running', 'model_name="stub"', running],
    ['vllm:num_requests_waiting', 'model_name="stub"', 0],
    ['vllm:kv_cache_usage_perc', 'model_name="stub"', 0.1],
    ['vllm:cache_config_info', 'block_size="16",num_gpu_blocks="1048576"', 1],
  ]
    .map(([name, labels, value]) => `# TYPE ${name} gauge\n${name}{${labels}} ${value}\n`)
    .join('');

function sendText(response, text, type = 'application/json') {
  response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(text) });
  response.end(text);
}

/** As fast as the socket takes it. */
function pour(response, chunks) {
  let left = chunks;
  const burst = () => {
    for (; left > 0; left -= 1) {
      if (response.write(tokenChunk())) continue;
      left -= 1;
      response.once('drain', burst);
      return;
    }
    response.end(LAST_CHUNKS);
  };
  burst();
}

function drip(response, chunks, delayMs) {
  let left = chunks;
  const step = () => {
    left -= 1;
    response.write(tokenChunk());
    if (left > 0) return;
    clearInterval(timer);
    response.end(LAST_CHUNKS);
  };
  const timer = setInterval(step, delayMs);
  response.on('close', () => clearInterval(timer));
  step();
}

function complete(request, response) {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const { model, stream, user, max_tokens: chunks = 16 } = JSON.parse(Buffer.concat(parts));
    running += 1;
    response.on('close', () => {
      running -= 1;
      if (!response.writableFinished && user !== undefined) aborts.push([user, nowMicros()]);
    });
    if (stream !== true) return sendText(response, ANSWER);
    response.writeHead(200, EVENT_STREAM);
    const delayMs = Number(/-(\d+)ms$/.exec(model)?.[1] ?? 0);
    if (delayMs === 0) pour(response, chunks);
    else drip(response, chunks, delayMs);
  });
}

function tellAborts(response) {
  const told = aborts;
  aborts = [];
  sendText(response, JSON.stringify(told));
}

const ROUTES = {
  'POST /v1/chat/completions': complete,
  'GET /v1/models': (_request, response) => sendText(response, MODELS),
  'GET /metrics': (_request, response) => sendText(response, gauges(), 'text/plain; version=0.0.4'),
  'GET /bench/aborts': (_request, response) => tellAborts(response),
};

const server = createServer((request, response) => {
  const route = ROUTES[`${request.method} ${request.url}`];
  if (route === undefined) response.writeHead(404).end();
  else route(request, response);
});
server.keepAliveTimeout = 120_000;
server.requestTimeout = 0;
server.listen({ port: Number(process.env.PORT), host: '127.0.0.1', backlog: 4096 });
