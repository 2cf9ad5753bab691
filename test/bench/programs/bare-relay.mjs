// The least that a correct relay of streams costs in Node: node:http in, undici's dispatch out, with backpressure and with
// the client's leaving passed on; and, asked with x-bench-refuse, the least that a refusal costs: `status` of one that says
// no more than that, `whole` of one that says and does all that it must. Usage: PORT=… UPSTREAM=http://… node bare-relay.mjs
import { createServer } from 'node:http';
import { Agent } from 'undici';
import { refusePlainly } from './plain-refusal.mjs';

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

function refuse(response) {
  response.writeHead(503, { 'content-type': 'application/json', 'content-length': REFUSAL.length, 'retry-after': '1' });
  response.end(REFUSAL);
}

const server = createServer((request, response) => {
  readBody(request, (body) => {
    const refusal = request.headers['x-bench-refuse'];
    if (refusal === 'status') return refuse(response);
    if (refusal === 'whole') return refusePlainly(request, body, response);
    const headers = { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' };
    const call = { origin, path: request.url, method: request.method, headers, body };
    agent.dispatch(call, new Crossing(response));
  });
});
server.requestTimeout = 0;
server.listen({ port: Number(process.env.PORT), host: '127.0.0.1', backlog: 4096 });
