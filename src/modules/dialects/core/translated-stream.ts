import type { Usage } from '../../../common/canonical/usage.js';
import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { eventFields, type EventSink, EventSplitter } from '../../../common/sse.js';
import { type EngineError, engineErrorIn, namedError, statusIn } from './engine-error.js';
import { unusableAnswer } from './engine-head.js';
import { isObject, type JsonObject, parsedJson } from './json-value.js';

/** A dialect's events for one answer, as text: what the engine says comes in, chunk by chunk. */
export interface AnswerEvents {
  readonly usage: Usage | undefined;
  /** Of the answer so far, as far as that shows without the engine's count. */
  readonly deliveredTokens: number;
  readonly contentSeen: boolean;
  /** A finish_reason has come: what may still follow is the usage. */
  readonly finished: boolean;
  /** Why what the engine sent is of no use, for the log; undefined: it is of use. */
  readonly fault: string | undefined;
  /** A chat chunk, or a whole chat answer; `source` is its JSON text. */
  chunk(chunk: JsonObject, source: string): void;
  /** The answer is complete; there may be a fault in it yet. */
  end(): void;
  /** The answer has failed by an error of the engine, or by a problem: its last event. */
  engineFailed(error: EngineError, status: number): void;
  failed(problem: GatewayProblem): void;
  /** Nothing was said for a while. */
  beat(): void;
  /** The events since the last call. */
  take(): string;
}

const NOTHING = Buffer.alloc(0);
/** An event that is larger is no piece of an answer. */
const EVENT_LIMIT_BYTES = 16 * 1024 * 1024;
const DATA = 'data: ';
const BLANK_LINE = '\n\n';
const LF = 0x0a;

/** An engine's stream of chat chunks on its way to a client of another dialect: each chunk is answered at once. */
export class TranslatedStream implements EventSink {
  failed = false;
  private readonly splitter = new EventSplitter(this, EVENT_LIMIT_BYTES);
  /** Nothing follows: the end, or an error, has been handed out. */
  private closed = false;
  /** The engine has ended its body: what is unreadable now is half an event. */
  private ended = false;

  constructor(private readonly events: AnswerEvents) {}

  get usage(): Usage | undefined {
    return this.events.usage;
  }

  get deliveredTokens(): number {
    return this.events.deliveredTokens;
  }

  get contentSeen(): boolean {
    return this.events.contentSeen;
  }

  push(bytes: Uint8Array): Uint8Array {
    if (this.closed) return NOTHING;
    const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const data = this.splitter.onBoundary ? onlyDataOf(chunk) : undefined;
    if (data === undefined) this.splitter.push(chunk);
    else this.data(data, undefined);
    return this.taken();
  }

  /** What is left to send once the engine has ended its body; a problem where the answer is cut. */
  end(): Uint8Array | GatewayProblem {
    if (this.closed) return NOTHING;
    this.ended = true;
    // A last event counts without its blank line.
    const rest = this.splitter.takeRest();
    if (rest.length > 0) this.event(rest);
    if (this.events.finished) this.finish();
    if (this.closed) return this.taken();
    return new GatewayProblem('upstream-failed', {
      detail: 'The engine broke off in the middle of its answer (server_error).',
      cause: new Error('the stream ended without finish_reason and [DONE]'),
    });
  }

  /** The event that ends a failed stream; what a stream that had its finish_reason still lacks, since it is complete. */
  failure(problem: GatewayProblem): Uint8Array {
    if (this.closed) return NOTHING;
    if (this.events.finished) this.finish();
    else this.fail(problem);
    return this.taken();
  }

  /** An answer that the engine did not stream, as all of its events. */
  answer(answer: JsonObject, source: string): Buffer {
    this.events.chunk(answer, source);
    this.finish();
    return this.taken();
  }

  /** An error of the engine that came instead of an answer, as the last event. */
  refused(error: EngineError, status: number): Buffer {
    this.engineFailed(error, status);
    return this.taken();
  }

  /** Events go out whole, so there is always room between two of them. */
  heartbeat(): Uint8Array | undefined {
    if (this.closed) return undefined;
    this.events.beat();
    return this.taken();
  }

  event(bytes: Buffer): void {
    const { event, data } = eventFields(bytes);
    if (data !== undefined) this.data(data, event);
  }

  part(): void {
    if (!this.closed) this.fail(unusableAnswer('the engine sent an event that is too large'));
  }

  lineFeed(): void {
    // It belongs to an event that has been read.
  }

  private data(data: string, event: string | undefined): void {
    if (this.closed) return;
    const chunk = parsedJson(data);
    if (isObject(chunk)) this.chunk(chunk, data, event);
    else if (data.trim() === '[DONE]') this.finish();
    else if (event === 'error') this.failAs(namedError(chunk, data));
    else if (chunk === undefined && (event ?? 'message') === 'message') this.unreadable(data);
  }

  /** What it said is lost, so that the answer must not look complete; unless that was complete before. */
  private unreadable(data: string): void {
    if (data.trim() === '' || this.ended || this.events.finished) return;
    this.fail(unusableAnswer('the engine sent an event that is no JSON'));
  }

  private chunk(chunk: JsonObject, source: string, event: string | undefined): void {
    const error = event === 'error' ? namedError(chunk, source) : engineErrorIn(chunk);
    if (error !== undefined) return this.failAs(error);
    this.events.chunk(chunk, source);
    if (this.events.fault !== undefined) this.fail(unusableAnswer(this.events.fault));
  }

  private finish(): void {
    if (this.events.fault === undefined) this.events.end();
    if (this.events.fault === undefined) this.closed = true;
    else this.fail(unusableAnswer(this.events.fault));
  }

  private failAs(error: EngineError): void {
    this.engineFailed(error, statusIn(error));
  }

  private engineFailed(error: EngineError, status: number): void {
    this.failed = true;
    this.closed = true;
    this.events.engineFailed(error, status);
  }

  private fail(problem: GatewayProblem): void {
    this.failed = true;
    this.closed = true;
    this.events.failed(problem);
  }

  private taken(): Buffer {
    const events = this.events.take();
    return events === '' ? NOTHING : Buffer.from(events);
  }
}

/** The data of a chunk that is exactly one event of one line, as nearly all of them are. */
function onlyDataOf(chunk: Buffer): string | undefined {
  const end = chunk.length - BLANK_LINE.length;
  if (chunk[end] !== LF || chunk[end + 1] !== LF) return undefined;
  const text = chunk.toString('utf8');
  if (!text.startsWith(DATA) || text.includes('\r')) return undefined;
  return text.indexOf('\n') === text.length - BLANK_LINE.length
    ? text.slice(DATA.length, -BLANK_LINE.length)
    : undefined;
}
