import http, { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Connection, type Service } from './connection.js';
import type { ServerConfig } from './common/config/server.config.js';
import { GatewayProblem } from './common/problem/gateway-problem.js';
import { findRecord, type RequestRecord } from './common/request-record.js';
import type { FrontDoor } from './front-door.js';

/** TCP keep-alive towards clients that have gone without a word, in the middle of a long silence. */
const KEEP_ALIVE_DELAY_MS = 30_000;
/** How much later than its time a slow head is cut, at most. */
const LONGEST_CHECK_MS = 1000;
/** A newcomer's first words may be on their way; a connection that has said nothing for so long is idle. */
const FIRST_WORD_MS = 2000;
/** Where an unreadable head says what it is about, if it does. */
const FIRST_LINE_BYTES = 256;

/** The public listener: nothing of Node's own limits is left in force but those that the configuration names. */
export class Listener {
  readonly server: Server;
  readonly #connections = new Map<Duplex, Connection>();
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

  /** The records of the requests that are being served, one a connection. */
  *served(): Generator<RequestRecord> {
    for (const { current } of this.#connections.values()) {
      const record = current && findRecord(current);
      if (record !== undefined) yield record;
    }
  }

  /** No new connection is taken; those that are there stay. */
  stopAccepting(): void {
    this.server.close();
  }

  /** Connections that are there, whatever they do. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Closes every connection that is between two requests, or has not begun one. */
  closeIdle(): void {
    this.server.closeIdleConnections();
    // Node takes a newcomer that has not said a word for one in the middle of its head.
    const oldest = performance.now() - FIRST_WORD_MS;
    for (const [socket, { openedAt }] of this.#connections)
      if (socket instanceof Socket && socket.bytesRead === 0 && openedAt < oldest) socket.destroy();
  }

  /** Cuts whatever is left. */
  destroyAll(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #listenTo(handler: RequestListener): void {
    const service: Service = {
      begin: (request, response) => this.#begin(request, response, handler),
      ended: () => {
        this.#runningCount--;
      },
    };
    const enter: RequestListener = (request, response) =>
      this.#connections.get(request.socket)?.take(request, response);
    this.server.on('request', enter);
    this.server.on('checkContinue', enter);
    this.server.on('checkExpectation', enter);
    this.server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
    this.server.on('connect', (request: IncomingMessage, socket: Duplex) =>
      this.#unreadable(connectRefused(request), socket, request.url),
    );
    this.server.on('clientError', (error: Error, socket: Duplex) => {
      const connection = this.#connections.get(socket);
      // Bytes behind a request that is all there are nobody's: its answer goes out undisturbed.
      if (connection?.answers === true && isNoise(error) && !socket.readableEnded) connection.closeBehind();
      else if (codeOf(error) !== 'HPE_CLOSED_CONNECTION' || socket.readableEnded)
        this.#unreadable(unreadableProblem(error), socket, targetIn(error));
    });
    this.server.on('connection', (socket: Socket) => {
      this.#connections.set(socket, new Connection(socket, service));
      socket.once('close', () => this.#connections.delete(socket));
    });
  }

  #begin(request: IncomingMessage, response: ServerResponse, handler: RequestListener): void {
    this.#runningCount++;
    if (this.#door === undefined) response.writeHead(503).end();
    else this.#door.enter(request, response, handler);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#connections.get(socket)?.upgrade(request) !== true) {
      socket.destroy();
      return;
    }
    this.#runningCount++;
    socket.once('close', () => this.#runningCount--);
    void this.#door?.upgrade(request, socket, head);
  }

  /** Another protocol is only ever spoken on a prefix; elsewhere the wish is ignored, as RFC 9110 section 7.8 allows. */
  #isUpgrade(request: IncomingMessage): boolean {
    return this.#door?.wantsUpgrade(request) ?? false;
  }

  #unreadable(problem: GatewayProblem | undefined, socket: Duplex, target: string | undefined): void {
    if (problem === undefined || this.#door === undefined) socket.destroy();
    else this.#door.unreadable(problem, socket, this.#connections.get(socket)?.current, target);
  }
}

const connectRefused = (request: IncomingMessage): GatewayProblem =>
  new GatewayProblem('method-not-allowed', {
    detail: 'CONNECT is not served.',
    cause: request.method,
    headers: { Allow: 'GET, POST' },
  });

/** Why bytes could not be read as a request; undefined: the connection broke, and nobody is there to be told. */
function unreadableProblem(error: Error): GatewayProblem | undefined {
  const code = codeOf(error);
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new GatewayProblem('headers-too-large', { detail: 'The request head is larger than this gateway takes.' });
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new GatewayProblem('body-timeout', { detail: 'The request head did not arrive in time (timeout).' });
  }
  if (code === 'HPE_INVALID_VERSION' && reasonOf(error) === 'Invalid HTTP version') {
    return new GatewayProblem('version-not-supported', { detail: 'HTTP/1.1 is spoken here.', cause: code });
  }
  if (code === 'HPE_INVALID_METHOD') {
    return new GatewayProblem('method-unknown', { detail: 'This method is not known here.', cause: code });
  }
  if (isNoise(error)) {
    return new GatewayProblem('invalid-request-head', { detail: 'The request is not valid HTTP/1.1.', cause: code });
  }
  return undefined;
}

/** The bytes are wrong; the connection is not broken. */
const isNoise = (error: Error): boolean =>
  codeOf(error).startsWith('HPE_') && codeOf(error) !== 'HPE_INVALID_EOF_STATE';

/** What the bytes ask for that could not be read, as far as their first line tells. */
function targetIn(error: Error): string | undefined {
  if (!('rawPacket' in error) || !Buffer.isBuffer(error.rawPacket)) return undefined;
  return /^[A-Z]+ (\/[^ \r\n]*)/.exec(error.rawPacket.toString('latin1', 0, FIRST_LINE_BYTES))?.[1];
}

const codeOf = (error: Error): string => ('code' in error && typeof error.code === 'string' ? error.code : '');
const reasonOf = (error: Error): unknown => ('reason' in error ? error.reason : undefined);
