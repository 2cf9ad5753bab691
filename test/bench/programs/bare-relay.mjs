// The least that a correct relay of streams costs in Node: node:http in, undici's dispatch out, with backpressure and with
// the client's leaving passed on; and, asked with x-bench-refuse, the least that a refusal costs. Usage: PORT=… UPSTREAM=http://… node bare-relay.mjs
import { hash, randomUUID } from 'node:crypto';
import { write } from 'node:fs';
import { createServer } from 'node:http';
import { Agent } from 'undici';

const origin = process.env.UPSTREAM;
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
const REFUSAL = JSON.stringify({
  error: { message: 'The queue is full. '.repeat(8), type: 'server_error', code: null },
});
const clientLeft = () => new Error('the client has left');

function readBody(request, done) {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => done(parts.length === 1 ? parts[0] : Buffer.concat(parts)));
}

/** What becomes of the engine's answer. */
class Crossing {
  #response;
  #controller;

  constructor(response) {
    this.#response = response;
    response.on('close', () => response.writableFinished || this.#controller?.abort(clientLeft()));
    response.on('drain', () => this.#controller?.resume());
  }

  onRequestStart(controller) {
    this.#controller = controller;
    if (this.#response.destroyed) controller.abort(clientLeft());
  }

  onResponseStart(_controller, status, headers) {
    // eslint-disable-next-line no-unused-vars -- what belongs to the connection stays behind
    const { connection, 'keep-alive': keepAlive, 'transfer-encoding': coding, ...rest } = headers;
    this.#response.writeHead(status, rest);
  }

  onResponseData(controller, chunk) {
    if (!this.#response.write(chunk)) controller.pause();
  }

  onResponseEnd() {
    this.#response.end();
  }

  onResponseError() {
    if (this.#response.headersSent) this.#response.destroy();
    else this.#response.writeHead(502).end();
  }
}

const known = new Map();
let lines = '';
function log(line) {
  if (lines === '') setTimeout(flush, 100);
  lines += line;
  if (lines.length > 60_000) flush();
}
function flush() {
  if (lines !== '') write(1, lines, () => undefined);
  lines = '';
}
function refuseTold(request, body, response) {
  const startedAt = performance.now();
  const { authorization = '' } = request.headers;
  const digest = hash('sha256', authorization, 'base64');
  const caller = known.get(digest) ?? (known.set(digest, 'tenant'), 'tenant');
  const { model } = JSON.parse(body);
  const id = randomUUID();
  const problem = Buffer.from(JSON.stringify({
    band: caller, waiting: 16, waited_ms: 0,
    type: 'https://api.example.com/problems/queue-full', title: 'The queue is full', status: 503,
    detail: 'All slots are taken, and as many requests of band bronze wait already as may (overloaded).',
    instance: `urn:uuid:${id}`, request_id: id, retry_after: 3,
    error: { message: 'All slots are taken, and as many requests of band bronze wait already as may (overloaded).', type: 'server_error', param: null, code: 'queue_full' },
  }));
  response.writeHead(503, ['x-request-id', id, 'content-type', 'application/problem+json', 'x-content-type-options', 'nosniff', 'retry-after', '3', 'content-length', String(problem.length)]);
  response.end(problem);
  const now = performance.now();
  log(`{"level":40,"time":${Date.now()},"request_id":"${id}","route":"${request.url}","method":"${request.method}","dialect":"openai","model":"${model}","upstream":"held","tenant":"${caller}","band":"bronze","status":503,"phase":"queued","queue_ms":0,"duration_ms":${Math.round(now - startedAt)},"request_bytes":${body.length},"response_bytes":${problem.length},"tokens":0,"reason":"queue_full","msg":"request rejected"}\n`);
}

function refuse(response) {
  response.writeHead(503, { 'content-type': 'application/json', 'content-length': REFUSAL.length, 'retry-after': '1' });
  response.end(REFUSAL);
}

const server = createServer((request, response) => {
  readBody(request, (body) => {
    if (request.headers['x-bench-refuse'] === 'told') return refuseTold(request, body, response);
    if (request.headers['x-bench-refuse'] !== undefined) return refuse(response);
    const headers = { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' };
    const call = { origin, path: request.url, method: request.method, headers, body };
    agent.dispatch(call, new Crossing(response));
  });
});
server.requestTimeout = 0;
server.listen({ port: Number(process.env.PORT), host: '127.0.0.1', backlog: 4096 });
