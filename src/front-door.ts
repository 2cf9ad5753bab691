import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from './common/clock.js';
import type { Operation } from './common/canonical/canonical-request.js';
import { GatewayProblem, problemFrom } from './common/problem/gateway-problem.js';
import { attachRecord, RequestRecord } from './common/request-record.js';
import { plainAddress } from './common/networks.js';
import { callerSpanIn, type RequestTrace, type TraceFields } from './common/request-trace.js';
import type { HotLane } from './modules/dialects/hot-lane.js';
import type { ProblemRenderer } from './modules/dialects/problem-renderer.js';
import { ClientGone } from './modules/proxy/client-gone.js';
import { attachExchange, Exchange, exchangeOf, type ExchangeContext } from './modules/proxy/exchange.js';
import { headFault, isAnthropicTarget, pathOf } from './modules/proxy/request-head.js';
import type { Peer } from './common/networks.js';
import type { WebSocketProxy } from './modules/proxy/websocket.js';
import { writeRawProblem } from './raw-problem.js';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** A path of the cutover from Kong. */
export interface Alias {
  readonly path: string;
  readonly operation: Operation;
  readonly model: string;
}

/** What the front door needs to know of the house. */
export interface FrontDoorParts {
  readonly exchanges: ExchangeContext;
  readonly clock: Clock;
  readonly renderer: ProblemRenderer;
  readonly sockets: WebSocketProxy;
  readonly aliases: readonly Alias[];
  readonly isTrusted: (address: string) => boolean;
  /** The path lies in a configured prefix, where percent encoding is checked further on. */
  readonly isProxied: (path: string) => boolean;
  readonly recorded: (record: RequestRecord) => void;
  /** undefined: tracing is off. */
  readonly tracing: { begin(fields: TraceFields): RequestTrace } | undefined;
  readonly lane: HotLane;
}

/** The fixed path of each operation; an alias is served as if it had been asked for. */
export const OPERATION_PATHS: Readonly<Record<Operation, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
};

/** Everything that comes in passes here first: a record is opened, the head checked, an alias resolved. */
export class FrontDoor {
  readonly #aliases: ReadonlyMap<string, Alias>;
  readonly #peers = new WeakMap<Socket, Peer>();
  /** Sockets on which nothing more is read: what still comes has its answer already. */
  readonly #unreadables = new WeakSet<Duplex>();

  constructor(private readonly parts: FrontDoorParts) {
    this.#aliases = new Map(parts.aliases.map((alias) => [alias.path, alias]));
  }

  /** From now on every answer says that its connection closes. */
  announceClosing(): void {
    this.parts.exchanges.closing = true;
  }

  /** A request as Node hands it over; `next` is the framework. */
  enter(request: IncomingMessage, response: ServerResponse, next: RequestListener): void {
    const { record, peer } = this.#open(request);
    const exchange = new Exchange(request, response, record, peer, this.parts.exchanges);
    attachExchange(exchange);
    const fault = headFault(request, this.#mayBeEncoded, this.#isServed) ?? expectationFault(request);
    if (fault !== undefined) return this.#refuse(exchange, fault);
    const path = this.rewrite(request);
    const route = request.method === 'POST' ? this.parts.lane.find(path) : undefined;
    if (route === undefined) return next(request, response);
    request.url = path;
    void this.parts.lane.take(path, route, exchange);
  }

  /** The path that the framework routes by: that of the operation where the client used an alias. */
  rewrite(request: IncomingMessage): string {
    const target = request.url ?? '/';
    const alias = this.#aliases.get(pathOf(target));
    if (alias === undefined) return target;
    const exchange = exchangeOf(request);
    exchange.forcedModel = alias.model;
    exchange.record.route = alias.path;
    return OPERATION_PATHS[alias.operation];
  }

  /** The router cannot decode the target. */
  refuseTarget(request: IncomingMessage): void {
    const detail = 'The request target is not percent-encoded UTF-8.';
    this.#refuse(exchangeOf(request), new GatewayProblem('invalid-request-head', { detail, closeConnection: true }));
  }

  /** A prefix decides for itself about any other protocol; on the fixed paths only a WebSocket is refused, not ignored. */
  wantsUpgrade(request: IncomingMessage): boolean {
    const protocol = request.headers.upgrade;
    if (protocol === undefined) return false;
    return protocol.toLowerCase() === 'websocket' || this.parts.isProxied(pathOf(request.url ?? ''));
  }

  /** A request that asks for another protocol: a WebSocket on a prefix, or nothing. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { record, peer } = this.#open(request);
    socket.on('error', () => socket.destroy());
    try {
      const fault = headFault(request, this.#mayBeEncoded, this.#isServed);
      if (fault !== undefined) throw fault;
      await this.parts.sockets.upgrade(request, socket, head, record, peer);
    } catch (error) {
      this.#refuseSocket(socket, record, error, request.url);
    } finally {
      record.close(this.parts.clock.now());
    }
  }

  /**
   * Bytes that are not HTTP. `running`: the request that is being served on the socket. It is refused where its own body
   * is what cannot be read; where its answer is on its way, nothing may be written behind it. `target`: what the bytes
   * ask for, as far as that can be told.
   */
  unreadable(
    problem: GatewayProblem,
    socket: Duplex,
    running: IncomingMessage | undefined,
    target: string | undefined,
  ): void {
    if (this.#unreadables.has(socket)) return;
    this.#unreadables.add(socket);
    if (running === undefined) this.#refuseBytes(socket, problem, target);
    else if (running.complete) socket.destroy();
    else if (!exchangeOf(running).started) this.#refuse(exchangeOf(running), problem);
  }

  readonly #isServed = (target: string): boolean => this.parts.lane.find(target) !== undefined;

  readonly #mayBeEncoded = (path: string): boolean =>
    path.startsWith('/v1/models/') || path.startsWith('/llm/v1/models/') || this.parts.isProxied(path);

  #open(request: IncomingMessage): { record: RequestRecord; peer: Peer } {
    const { parts } = this;
    const asked = request.headers['x-request-id'];
    const id = typeof asked === 'string' && REQUEST_ID.test(asked) ? asked : randomUUID();
    const record = new RequestRecord(id, parts.clock.now(), parts.recorded);
    record.method = request.method ?? '';
    record.trace = parts.tracing?.begin(request.headers);
    record.traceId = record.trace?.traceId ?? callerSpanIn(request.headers)?.traceId;
    attachRecord(request, record);
    const peer = this.#peerOf(request.socket);
    record.peerAddress = peer.address;
    return { record, peer };
  }

  #peerOf(socket: Socket): Peer {
    let peer = this.#peers.get(socket);
    if (peer === undefined) {
      const address = plainAddress(socket.remoteAddress);
      peer = { address, trusted: this.parts.isTrusted(address) };
      this.#peers.set(socket, peer);
    }
    return peer;
  }

  #refuseBytes(socket: Duplex, problem: GatewayProblem, target: string | undefined): void {
    const record = new RequestRecord(randomUUID(), this.parts.clock.now(), this.parts.recorded);
    record.problem = problem.code;
    record.cause = problem.options.cause;
    if (!socket.writable) socket.destroy();
    else this.#answerRaw(socket, record, problem, target);
    record.close(this.parts.clock.now());
  }

  #refuse(exchange: Exchange, problem: GatewayProblem): void {
    exchange.record.problem = problem.code;
    exchange.record.cause = problem.options.cause;
    exchange.sendWhole(this.parts.renderer.render(problem, exchange.requestId, exchange.request.url), problem);
  }

  #refuseSocket(socket: Duplex, record: RequestRecord, error: unknown, target: string | undefined): void {
    if (error instanceof ClientGone) {
      record.clientGone = true;
      socket.destroy();
      return;
    }
    const problem = problemFrom(error);
    record.problem = problem.code;
    record.cause = problem.options.cause;
    this.#answerRaw(socket, record, problem, target);
  }

  #answerRaw(socket: Duplex, record: RequestRecord, problem: GatewayProblem, target: string | undefined): void {
    const { requestId } = record;
    record.status = problem.status;
    const whole = this.parts.renderer.render(problem, requestId, target);
    const own = isAnthropicTarget(target ?? '') ? ['request-id', requestId] : [];
    writeRawProblem(socket, { ...whole, headers: [...own, ...whole.headers] }, requestId);
  }
}

function expectationFault(request: IncomingMessage): GatewayProblem | undefined {
  const { expect } = request.headers;
  if (expect === undefined || expect.toLowerCase() === '100-continue') return undefined;
  return new GatewayProblem('expectation-failed', {
    detail: 'The only expectation met is 100-continue.',
    closeConnection: true,
  });
}
