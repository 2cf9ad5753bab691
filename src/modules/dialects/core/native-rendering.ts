import type { Usage } from '../../../common/canonical/usage.js';
import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { EngineHeaders, Rendering, ResponseHead, WholeResponse } from '../../../common/rendering.js';
import { type EngineError, engineErrorFromBody } from './engine-error.js';
import { checkEngineHead, fieldOf, handedOnFields, isEventStream, unusableAnswer } from './engine-head.js';
import { isObject, type JsonObject, parsedJson } from './json-value.js';
import { JSON_FIELDS, STREAM_FIELDS } from './response-fields.js';

/** Looks at a stream of a dialect's own events as it goes by, and changes nothing. */
export interface NativeTap {
  readonly usage: Usage | undefined;
  /** Of the answer so far, as far as that shows without the engine's count. */
  readonly deliveredTokens: number;
  readonly contentSeen: boolean;
  /** The event that ends an answer has gone by. */
  readonly complete: boolean;
  /** An event that ends a failed one has. */
  readonly failed: boolean;
  /** The client has no half event. */
  readonly onBoundary: boolean;
  push(chunk: Uint8Array): void;
  event(bytes: Buffer): void;
  /** The unfinished event, which is no longer held after this. */
  takeRest(): Buffer;
}

/** How a dialect says what an engine that speaks it does not. */
export interface NativeWords {
  readonly stream: NativeTap;
  /** What keeps a silent stream alive between two events. */
  readonly beat: Buffer;
  /** Whether a whole body is an answer, and no error with a status of success. */
  isAnswer(body: JsonObject): boolean;
  usageIn(answer: JsonObject): Usage | undefined;
  /** An engine's answer with an error status. */
  refused(status: number, headers: EngineHeaders, body: Buffer): WholeResponse;
  /** The same, and a problem, as the last event of a stream. */
  errorEvent(error: EngineError, status: number): string;
  problemEvent(problem: GatewayProblem): string;
}

const NOTHING = Buffer.alloc(0);
const LF = 0x0a;
const DISGUISED_STATUS = 502;
const WHOLE_LIMIT_BYTES = 64 * 1024 * 1024;

/** Answers of an engine that speaks the dialect: the bytes as they are, looked at for their usage and their end. */
export class NativeRendering implements Rendering {
  readonly wholeLimitBytes = WHOLE_LIMIT_BYTES;
  private headers: EngineHeaders = {};
  private status = 200;
  private way: 'unknown' | 'stream' | 'whole' = 'unknown';
  private committed = false;
  private wholeUsage: Usage | undefined;
  private ended = false;
  /** The engine ended its body behind half an event. */
  private endedInEvent = false;
  private hasFailed = false;

  constructor(private readonly words: NativeWords) {}

  private get stream(): NativeTap {
    return this.words.stream;
  }

  get failed(): boolean {
    return this.hasFailed || this.stream.failed;
  }

  get usage(): Usage | undefined {
    return this.wholeUsage ?? this.stream.usage;
  }

  get deliveredTokens(): number {
    return this.stream.deliveredTokens;
  }

  get contentSeen(): boolean {
    return this.stream.contentSeen;
  }

  begin(status: number, headers: EngineHeaders): 'stream' | 'whole' {
    checkEngineHead(status, headers);
    this.status = status;
    this.headers = headers;
    this.way = status < 300 && isEventStream(fieldOf(headers, 'content-type')) ? 'stream' : 'whole';
    return this.way;
  }

  head(): ResponseHead {
    if (this.way === 'unknown') this.committed = true;
    return { status: 200, headers: [...STREAM_FIELDS, ...handedOnFields(this.headers)] };
  }

  push(chunk: Uint8Array): Uint8Array {
    if (this.way !== 'stream') throw unusableAnswer('the answer is too large');
    this.stream.push(chunk);
    return chunk;
  }

  end(): Uint8Array | GatewayProblem {
    if (this.stream.complete || this.stream.failed) return NOTHING;
    const rest = this.stream.takeRest();
    if (rest.length > 0) this.stream.event(rest);
    // A last event counts without its blank line, but not every client reads it so: the line is put there.
    if (this.stream.complete || this.stream.failed) return Buffer.from(rest.at(-1) === LF ? '\n' : '\n\n');
    this.endedInEvent = rest.length > 0;
    return new GatewayProblem('upstream-failed', {
      detail: 'The engine broke off in the middle of its answer (server_error).',
      cause: new Error('the stream ended without its last event'),
    });
  }

  whole(body: Buffer): WholeResponse {
    if (this.committed) return this.failedWhole(body);
    if (this.status >= 400) return this.words.refused(this.status, this.headers, body);
    const answer = parsedJson(body.toString('utf8'));
    if (!isObject(answer) || !this.words.isAnswer(answer)) throw unusableAnswer('the answer is none of the dialect');
    this.wholeUsage = this.words.usageIn(answer);
    return { status: this.status, headers: [...JSON_FIELDS, ...handedOnFields(this.headers)], body };
  }

  failure(problem: GatewayProblem): Uint8Array | undefined {
    if (this.ended || this.stream.complete) return NOTHING;
    if (this.way === 'whole' && !this.committed) return undefined;
    this.ended = true;
    this.hasFailed = true;
    if (this.stream.failed) return NOTHING;
    const isBetweenEvents = this.stream.onBoundary && !this.endedInEvent;
    return isBetweenEvents ? Buffer.from(this.words.problemEvent(problem)) : undefined;
  }

  heartbeat(): Uint8Array | undefined {
    if (this.way === 'whole' && this.status >= 300) return undefined;
    if (this.way !== 'stream') this.committed = true;
    const over = this.ended || this.stream.complete || this.failed;
    return !over && this.stream.onBoundary ? this.words.beat : undefined;
  }

  /** The head of a stream is out, and the engine did not stream: the event that can still tell of it. */
  private failedWhole(body: Buffer): WholeResponse {
    this.ended = true;
    this.hasFailed = true;
    const status = this.status >= 400 ? this.status : DISGUISED_STATUS;
    const event = this.words.errorEvent(engineErrorFromBody(body), status);
    return { status: this.status, headers: STREAM_FIELDS, body: Buffer.from(event) };
  }
}
