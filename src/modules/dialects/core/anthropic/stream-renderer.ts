import type { Usage } from '../../../../common/canonical/usage.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { eventFields, type EventSink, EventSplitter } from '../../../../common/sse.js';
import { type EngineError, engineErrorIn, namedError, statusIn } from '../engine-error.js';
import { isObject, type JsonObject, parsedJson } from '../json-value.js';
import { engineFailureOf } from './engine-failure.js';
import { PING_EVENT } from './frames.js';
import { MessageStream, type StreamTerms } from './message-stream.js';
import { errorEvent, problemEvent } from './render-problem.js';

const NOTHING = Buffer.alloc(0);
/** An event that is larger is no piece of an answer. */
const EVENT_LIMIT_BYTES = 16 * 1024 * 1024;
const DATA = 'data: ';
const BLANK_LINE = '\n\n';
const LF = 0x0a;

/** An engine's stream of chat chunks on its way to a client of the Messages dialect: each chunk is answered at once. */
export class StreamRenderer implements EventSink {
  failed = false;
  private readonly stream: MessageStream;
  private readonly splitter = new EventSplitter(this, EVENT_LIMIT_BYTES);
  /** Nothing follows: the end, or an error, has been handed out. */
  private closed = false;
  private last: Buffer = NOTHING;

  constructor(
    terms: StreamTerms,
    private readonly requestId: string,
  ) {
    this.stream = new MessageStream(terms);
  }

  get usage(): Usage | undefined {
    return this.stream.usage;
  }

  get deliveredTokens(): number {
    return this.stream.deliveredTokens;
  }

  get contentSeen(): boolean {
    return this.stream.contentSeen;
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
    // A last event counts without its blank line.
    const rest = this.splitter.takeRest();
    if (rest.length > 0) this.event(rest);
    if (this.stream.finished) this.finish();
    if (this.closed) return this.taken();
    return new GatewayProblem('upstream-failed', {
      detail: 'The engine broke off in the middle of its answer (server_error).',
      cause: new Error('the stream ended without finish_reason and [DONE]'),
    });
  }

  /** The event that ends a failed stream; what a stream that had its finish_reason still lacks, since it is complete. */
  failure(problem: GatewayProblem): Uint8Array {
    if (this.closed) return NOTHING;
    if (this.stream.finished) this.finish();
    else this.fail(problemEvent(problem, this.requestId));
    return this.taken();
  }

  /** Events go out whole, so there is always room between two of them. */
  heartbeat(): Uint8Array | undefined {
    return this.closed ? undefined : PING_EVENT;
  }

  event(bytes: Buffer): void {
    const { event, data } = eventFields(bytes);
    if (data !== undefined) this.data(data, event);
  }

  part(): void {
    if (!this.closed) this.failWith('the engine sent an event that is too large');
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
  }

  private chunk(chunk: JsonObject, source: string, event: string | undefined): void {
    const error = event === 'error' ? namedError(chunk, source) : engineErrorIn(chunk);
    if (error !== undefined) return this.failAs(error);
    this.stream.chunk(chunk, source);
    if (this.stream.fault !== undefined) this.failWith(this.stream.fault);
  }

  private finish(): void {
    this.stream.end();
    if (this.stream.fault === undefined) this.closed = true;
    else this.failWith(this.stream.fault);
  }

  private failAs(error: EngineError): void {
    this.fail(errorEvent(engineFailureOf(error, statusIn(error)).error, this.requestId));
  }

  private failWith(cause: string): void {
    const detail = 'The engine sent an answer that cannot be used (server_error).';
    this.fail(
      problemEvent(new GatewayProblem('upstream-invalid', { detail, cause: new Error(cause) }), this.requestId),
    );
  }

  private fail(event: Buffer): void {
    this.failed = true;
    this.closed = true;
    this.last = event;
  }

  private taken(): Buffer {
    const events = this.stream.take();
    const { last } = this;
    this.last = NOTHING;
    if (last.length === 0) return events === '' ? NOTHING : Buffer.from(events);
    return Buffer.concat([Buffer.from(events), last]);
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
