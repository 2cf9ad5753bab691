import http, { type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ServerConfig } from './common/config/server.config.js';
import { GatewayProblem } from './common/problem/gateway-problem.js';
import type { FrontDoor } from './front-door.js';

/** TCP keep-alive towards clients that have gone without a word, in the middle of a long silence. */
const KEEP_ALIVE_DELAY_MS = 30_000;
/** How much later than its time a slow head is cut, at most. */
const LONGEST_CHECK_MS = 1000;

/** The public listener: nothing of Node's own limits is left in force but those that the configuration names. */
export class HttpServer {
  readonly server: Server;
  readonly #running = new WeakMap<Duplex, number>();
  readonly #sockets = new Set<Socket>();
  #runningCount = 0;
  #door: FrontDoor | undefined;

  constructor(config: ServerConfig, handler: RequestListener) {
    this.server = http.createServer({
      maxHeaderSize: config.maxHeaderSizeBytes,
      headersTimeout: config.headersTimeoutMs,
      // The body has a time limit of its own, by the route; this one would also run while a client waits in the queue.
      requestTimeout: 0,
      keepAliveTimeout: config.keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(LONGEST_CHECK_MS, config.headersTimeoutMs / 2),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
      insecureHTTPParser: false,
      requireHostHeader: false,
      shouldUpgradeCallback: (request: IncomingMessage) => this.#isUpgrade(request),
    });
    this.server.timeout = 0;
    // Node drops fields over its limit silently; the head's check counts and refuses.
    this.server.maxHeadersCount = 0;
    if (config.maxConnections !== undefined) this.server.maxConnections = config.maxConnections;
    this.#listenTo(handler);
  }

  /** Opens the door: until then every request waits for nothing and is refused. */
  open(door: FrontDoor): void {
    this.#door = door;
  }

  /** Requests and sockets that are being served. */
  get running(): number {
    return this.#runningCount;
  }

  /** No new connection is taken; those that are there stay. */
  stopAccepting(): void {
    this.server.close();
  }

  /** Closes every connection that is between two requests. */
  closeIdle(): void {
    this.server.closeIdleConnections();
  }

  /** Cuts whatever is left. */
  destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #listenTo(handler: RequestListener): void {
    const enter: RequestListener = (request, response) => {
      this.#track(request.socket, 1);
      response.once('close', () => this.#track(request.socket, -1));
      if (this.#door === undefined) response.writeHead(503).end();
      else this.#door.enter(request, response, handler);
    };
    this.server.on('request', enter);
    this.server.on('checkContinue', enter);
    this.server.on('checkExpectation', enter);
    this.server.on('upgrade', (request, socket, head) => {
      this.#track(socket, 1);
      socket.once('close', () => this.#track(socket, -1));
      void this.#door?.upgrade(request, socket, head);
    });
    this.server.on('connect', (request: IncomingMessage, socket: Duplex) => this.#unreadable(connectRefused(request), socket));
    this.server.on('clientError', (error: Error, socket: Duplex) => this.#unreadable(unreadableProblem(error), socket));
    this.server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  #track(socket: Duplex, change: 1 | -1): void {
    this.#runningCount += change;
    this.#running.set(socket, (this.#running.get(socket) ?? 0) + change);
  }

  /** Another protocol is only ever spoken on a prefix; elsewhere the wish is ignored, as RFC 9110 section 7.8 allows. */
  #isUpgrade(request: IncomingMessage): boolean {
    return this.#door?.wantsUpgrade(request) ?? false;
  }

  #unreadable(problem: GatewayProblem | undefined, socket: Duplex): void {
    if (problem === undefined || this.#door === undefined) socket.destroy();
    else this.#door.unreadable(problem, socket, (this.#running.get(socket) ?? 0) > 0);
  }
}

const connectRefused = (request: IncomingMessage): GatewayProblem =>
  new GatewayProblem('method-not-allowed', { detail: 'CONNECT is not served.', cause: request.method, headers: { Allow: 'GET, POST' } });

/** Why bytes could not be read as a request; undefined: the connection broke, and nobody is there to be told. */
function unreadableProblem(error: Error): GatewayProblem | undefined {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new GatewayProblem('headers-too-large', { detail: 'The request head is larger than this gateway takes.' });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayProblem('body-timeout', { detail: 'The request head did not arrive in time (timeout).' });
  }
  if (code === 'HPE_INVALID_VERSION') {
    return new GatewayProblem('version-not-supported', { detail: 'HTTP/1.1 is spoken here.', cause: code });
  }
  if (code.startsWith('HPE_')) {
    return new GatewayProblem('invalid-request-head', { detail: 'The request is not valid HTTP/1.1.', cause: code });
  }
  return undefined;
}
