import type { Usage } from '../../../../common/canonical/usage.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { EngineHeaders, Rendering, ResponseHead, WholeResponse } from '../../../../common/rendering.js';
import { engineErrorFromBody } from '../engine-error.js';
import { checkEngineHead, fieldOf, handedOnFields, isEventStream, unusableAnswer } from '../engine-head.js';
import { isObject, parsedJson } from '../json-value.js';
import type { ProblemContext } from '../problem-json.js';
import { engineFailureOf, renderEngineError } from './engine-failure.js';
import { JSON_FIELDS, PING_EVENT, STREAM_FIELDS } from './frames.js';
import { usageFromMessages } from './message-usage.js';
import { NativeStream } from './native-stream.js';
import { errorEvent, problemEvent } from './render-problem.js';

const NOTHING = Buffer.alloc(0);
const WHOLE_LIMIT_BYTES = 64 * 1024 * 1024;

/** Answers of an engine that speaks the dialect: the bytes as they are, looked at for their usage and their end. */
export class NativeRendering implements Rendering {
  readonly wholeLimitBytes = WHOLE_LIMIT_BYTES;
  private readonly stream = new NativeStream();
  private headers: EngineHeaders = {};
  private status = 200;
  private way: 'unknown' | 'stream' | 'whole' = 'unknown';
  private committed = false;
  private wholeUsage: Usage | undefined;
  private ended = false;
  private hasFailed = false;

  constructor(private readonly context: ProblemContext) {}

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
    return new GatewayProblem('upstream-failed', {
      detail: 'The engine broke off in the middle of its answer (server_error).',
      cause: new Error('the stream ended without message_stop'),
    });
  }

  whole(body: Buffer): WholeResponse {
    if (this.status >= 400 && !this.committed) return renderEngineError(this.status, this.headers, body, this.context);
    if (this.committed) return this.failedWhole(body);
    const answer = parsedJson(body.toString('utf8'));
    if (!isObject(answer) || answer['type'] === 'error') throw unusableAnswer('the answer is no message');
    this.wholeUsage = usageFromMessages(answer['usage']);
    return { status: this.status, headers: [...JSON_FIELDS, ...handedOnFields(this.headers)], body };
  }

  failure(problem: GatewayProblem): Uint8Array | undefined {
    if (this.ended || this.stream.complete) return NOTHING;
    if (this.way === 'whole' && !this.committed) return undefined;
    this.ended = true;
    this.hasFailed = true;
    if (this.stream.failed) return NOTHING;
    return this.stream.onBoundary ? problemEvent(problem, this.context.requestId) : undefined;
  }

  heartbeat(): Uint8Array | undefined {
    if (this.way === 'unknown') this.committed = true;
    const over = this.ended || this.stream.complete || this.failed;
    return !over && this.stream.onBoundary ? PING_EVENT : undefined;
  }

  /** The head of a stream is out, and the engine did not stream: the event that can still tell of it. */
  private failedWhole(body: Buffer): WholeResponse {
    this.ended = true;
    this.hasFailed = true;
    const { error } = engineFailureOf(engineErrorFromBody(body), this.status >= 400 ? this.status : 502);
    return { status: this.status, headers: STREAM_FIELDS, body: errorEvent(error, this.context.requestId) };
  }
}
