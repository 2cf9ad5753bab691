// The least that a correct relay of streams costs in Node: node:http in, undici's dispatch out, with backpressure and with
// the client's leaving passed on. Usage: PORT=… UPSTREAM=http://… node bare-relay.mjs
import { createServer } from 'node:http';
import { Agent } from 'undici';

const origin = process.env.UPSTREAM;
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
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

const server = createServer((request, response) => {
  readBody(request, (body) => {
    const headers = { 'content-type': 'application/json', authorization: request.headers.authorization ?? '' };
    const call = { origin, path: request.url, method: request.method, headers, body };
    agent.dispatch(call, new Crossing(response));
  });
});
server.requestTimeout = 0;
server.listen({ port: Number(process.env.PORT), host: '127.0.0.1', backlog: 4096 });
