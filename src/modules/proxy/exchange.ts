import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../common/clock.js';
import type { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { Peer } from '../../common/networks.js';
import type { Principal } from '../../common/principal.js';
import type { Rendering, ResponseHead, WholeResponse } from '../../common/rendering.js';
import type { RequestRecord } from '../../common/request-record.js';
import type { Reservation } from '../budgets/reservation.js';
import type { BodyMemory } from './body-memory.js';
import { ClientGone } from './client-gone.js';
import { drainOf, endWith } from './chunk-writer.js';
import { requireJson } from './core/body-checks.js';
import { engineRequestHeaders } from './core/headers.js';
import type { Beating, Heartbeats } from './heartbeats.js';
import { bodyAtHand, readBody, type BodyLimits, type HeldBody } from './read-body.js';
import { isAnthropicTarget } from './request-head.js';

/** How long a refused upload may go on after its answer was written, so that the client gets to read it. */
const LINGER_MS = 500;
const LINGER_BYTES = 512 * 1024;
/** A client that sends a byte a chunk is not worth that patience: so many pieces, and it is cut. */
const LINGER_PIECES = 4096;

/** What all exchanges of one listener share. */
export interface ExchangeContext {
  readonly clock: Clock;
  readonly bodyMemory: BodyMemory;
  readonly bodyTimeoutMs: number;
  readonly heartbeats: Heartbeats;
  /** Every answer says that its connection closes. */
  closing: boolean;
}

/** One request and its response on the wire. It lives as long as the response, and is the only one to write to it. */
export class Exchange implements Beating {
  /** The model that the matched path forces, whatever the body says. */
  forcedModel: string | undefined = undefined;
  #gone = false;
  #answered = false;
  #heldBytes = 0;
  /** Nothing more of the body is to come, though Node may not have seen its end yet. */
  #uploaded = false;
  #abort: AbortController | undefined;
  #onLeave: (() => void) | undefined;
  #parked: Rendering | undefined;
  /** Of the bytes that were sent, those of heartbeats. */
  #beatBytes = 0;
  #reservation: Reservation | undefined;

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly record: RequestRecord,
    readonly peer: Peer,
    private readonly context: ExchangeContext,
  ) {
    response.on('close', () => this.#closed());
  }

  get clock(): Clock {
    return this.context.clock;
  }

  /** Who calls, as the guard of the matched route found. Throws where no guard has run. */
  get caller(): Principal {
    const { principal } = this.record;
    if (principal === undefined) throw new Error('the route has no guard');
    return principal;
  }

  get requestId(): string {
    return this.record.requestId;
  }

  /** Aborts with ClientGone when the client closes before its response is complete. Made when first asked for. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#gone) this.#abort.abort(new ClientGone());
    }
    return this.#abort.signal;
  }

  /** The one call that a leaving client sets off at once; undefined takes it back. */
  onLeave(callback: (() => void) | undefined): void {
    this.#onLeave = callback;
  }

  /** The client has left before its response was complete. */
  get gone(): boolean {
    return this.#gone;
  }

  /**
   * Asked before a handler begins: nobody waits for what it would say. The client has left, or its bytes cannot be read
   * and it has been told so.
   */
  get over(): boolean {
    return this.#gone || this.started;
  }

  /** The head of the response has been written: an error can no longer have a status of its own. */
  get started(): boolean {
    return this.response.headersSent;
  }

  /** The same, as whoever may turn it away wants to know it. */
  get committed(): boolean {
    return this.started;
  }

  /** The whole body, which has to be announced as JSON; otherwise as `readBody`. */
  readJson(limitBytes: number): Buffer | Promise<Buffer> {
    requireJson(this.request.headers);
    return this.readBody(limitBytes);
  }

  /** What an engine may see of this request's fields. */
  engineHeaders(): string[] {
    return engineRequestHeaders(this.request.headers, this.peer, this.record);
  }

  /** The whole body, within the cap, at once where it has come. Throws or rejects with a GatewayProblem, or ClientGone. */
  readBody(limitBytes: number): Buffer | Promise<Buffer> {
    this.record.phase = 'upload';
    const { bodyMemory, bodyTimeoutMs: timeoutMs } = this.context;
    const body = bodyAtHand(this.request, bodyMemory, limitBytes);
    if (body !== undefined) return this.#take(body);
    return this.#waitForBody({ limitBytes, timeoutMs }).then((late) => this.#take(late));
  }

  #take({ bytes, heldBytes }: HeldBody): Buffer {
    this.#heldBytes = heldBytes;
    this.#uploaded = true;
    this.record.requestBytes = bytes.length;
    return bytes;
  }

  async #waitForBody(limits: BodyLimits): Promise<HeldBody> {
    const askedAt = this.clock.now();
    const reading = readBody(this.request, this.context.bodyMemory, limits, this.clock);
    if (this.#expectsContinue()) this.response.writeContinue();
    const body = await reading;
    this.record.uploadMs = this.clock.now() - askedAt;
    return body;
  }

  #expectsContinue(): boolean {
    const { request } = this;
    // Node throws where a status has been written, and nobody would hear of what becomes of the body.
    return request.headers.expect !== undefined && request.httpVersion === '1.1' && !this.started;
  }

  /** What is asked, and in which dialect. */
  asks(dialect: string, operation: string): void {
    this.record.dialect = dialect;
    this.record.operation = operation;
  }

  /** Where it goes. */
  routed(model: string, upstream: string): void {
    this.record.model = model;
    this.record.upstream = upstream;
  }

  /** Its caller's budget holds it, and the answer will say what is left. */
  reserved(reservation: Reservation): void {
    this.#reservation = reservation;
    this.asksForPlace();
  }

  /** From here on it may have to wait. */
  asksForPlace(): void {
    const { record } = this;
    if (record.operation !== undefined) record.tokens = 0;
    record.asksForPlace(this.clock.now());
  }

  queued(ahead: number): void {
    this.record.queuedBehind ??= ahead;
  }

  held(test: string): void {
    this.record.heldBy(test, this.clock.now());
  }

  /** Its slot was granted after so many milliseconds; 0: it did not have to wait. */
  admitted(waitedMs: number): void {
    this.record.waited(waitedMs);
  }

  /**
   * From now on a silent stream is kept alive: nothing is sent until the first heartbeat is due, so that a quick
   * rejection keeps its status.
   */
  park(rendering: Rendering): void {
    this.#parked = rendering;
    this.context.heartbeats.watch(this);
  }

  get sentBytes(): number {
    return this.record.responseBytes - this.#beatBytes;
  }

  /** Says that the stream still lives, where that does not land inside an event. */
  beat(asEvent: boolean): void {
    const { response } = this;
    if (this.#gone || response.writableEnded || drainOf(response).writableNeedDrain) return;
    const bytes = this.#parked?.heartbeat(asEvent);
    if (this.#parked === undefined || bytes === undefined) return;
    if (!this.started) this.writeHead(this.#parked.head());
    response.write(bytes);
    this.#beatBytes += bytes.length;
    this.record.responseBytes += bytes.length;
    this.record.heartbeats += 1;
  }

  /** Answers with a problem: with its status, or in the stream's own words where the head is out. */
  fail(problem: GatewayProblem, render: () => WholeResponse): void {
    if (this.#gone) return;
    this.record.gaveUp(this.clock.now());
    if (this.started) this.endFailed(this.#parked?.failure(problem));
    else this.sendWhole(render(), problem);
  }

  /** Writes the head of a response whose body follows in pieces. */
  writeHead(head: ResponseHead): void {
    this.record.status = head.status;
    if (this.context.closing) this.response.shouldKeepAlive = false;
    this.response.writeHead(head.status, this.#withOwnFields(head.headers));
  }

  /** Writes a complete response; the connection closes behind it where what is left on it cannot be read. */
  sendWhole(whole: WholeResponse, problem?: GatewayProblem): void {
    if (this.#gone || this.started) return;
    const uploaded = this.#uploaded || this.request.complete;
    const closing = problem?.options.closeConnection === true || !uploaded;
    const headers = this.#withOwnFields(whole.headers);
    headers.push('content-length', String(whole.body.length));
    if (closing || this.context.closing) this.response.shouldKeepAlive = false;
    this.record.answeredWhole(whole, this.clock.now());
    this.response.writeHead(whole.status, headers);
    if (!uploaded) this.#linger(whole.body);
    else endWith(this.response, whole.body);
    this.watchLastBytes(this.context.bodyTimeoutMs);
  }

  /** Answers with a small JSON document that nobody may keep. */
  sendJson(document: unknown): void {
    const body = Buffer.from(JSON.stringify(document));
    this.sendWhole({ status: 200, headers: ['content-type', 'application/json', 'cache-control', 'no-store'], body });
  }

  /** The response has been ended; a client that takes nothing of what is left for so long is cut. */
  watchLastBytes(limitMs: number): void {
    // Node's own timer looks at the bytes that the system has taken; on a kept connection Node sets it anew.
    if (this.response.writableLength > 0) this.response.socket?.setTimeout(limitMs);
  }

  /** Ends a streamed response as a failed one: what `last` says, then the end of the connection. */
  endFailed(last: Uint8Array | undefined): void {
    if (last === undefined) {
      this.response.destroy();
      return;
    }
    this.record.responseBytes += last.length;
    this.response.end(last, () => this.request.socket.destroySoon());
  }

  #withOwnFields(headers: readonly string[]): string[] {
    const out = ['x-request-id', this.requestId, ...headers];
    if (isAnthropicTarget(this.request.url ?? '')) out.push('request-id', this.requestId);
    if (this.#reservation !== undefined) out.push(...this.#reservation.fields);
    if (this.record.parked) out.push('x-llmgw-queue-ms', String(Math.round(this.record.queuedMs)));
    return out;
  }

  /**
   * Closing a socket with unread bytes makes the kernel send a reset, which may overtake the answer. So the answer is
   * written, the rest of the upload is thrown away for a moment, and only then the response ends.
   */
  #linger(body: Uint8Array): void {
    let leftBytes = LINGER_BYTES;
    let leftPieces = LINGER_PIECES;
    this.#answered = true;
    const end = (): void => {
      timer.cancel();
      this.request.removeListener('data', discard);
      this.response.end();
    };
    const discard = (part: Buffer): void => {
      leftBytes -= part.length;
      leftPieces -= 1;
      if (leftPieces < 0) this.request.socket.destroy();
      else if (leftBytes < 0) this.request.pause();
    };
    const timer = this.clock.after(LINGER_MS, end);
    this.response.write(body);
    this.request.on('data', discard);
    this.request.once('end', end);
    this.request.resume();
  }

  #closed(): void {
    if (this.#parked !== undefined) this.context.heartbeats.unwatch(this);
    if (this.#heldBytes > 0) this.context.bodyMemory.giveBack(this.#heldBytes);
    this.#heldBytes = 0;
    if (!this.#answered && !this.response.writableFinished) this.#leave();
    else if (this.record.problem === undefined) this.record.phase = 'done';
    this.record.close(this.clock.now());
  }

  #leave(): void {
    this.#gone = true;
    this.record.clientGone = true;
    this.#onLeave?.();
    this.#abort?.abort(new ClientGone());
  }
}

const EXCHANGE = Symbol('exchange');
interface Exchanged {
  [EXCHANGE]?: Exchange;
}

/** Ties an exchange to its raw request. */
export function attachExchange(exchange: Exchange): void {
  (exchange.request as Exchanged)[EXCHANGE] = exchange;
}

/** The exchange of a raw request. Throws for one that did not come in by the front door. */
export function exchangeOf(request: IncomingMessage): Exchange {
  const exchange = (request as Exchanged)[EXCHANGE];
  if (exchange === undefined) throw new Error('the request has no exchange');
  return exchange;
}
