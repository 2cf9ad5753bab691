import { type Usage, usageFromOpenAi } from '../../../../common/canonical/usage.js';
import type { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { EngineHeaders, Rendering, ResponseHead, WholeResponse } from '../../../../common/rendering.js';
import { tokensInBody } from '../delivered-tokens.js';
import { engineErrorFromBody, engineErrorIn } from '../engine-error.js';
import { checkEngineHead, fieldOf, handedOnFields, isEventStream, unusableAnswer } from '../engine-head.js';
import { isObject, type JsonObject, parsedJson } from '../json-value.js';
import type { ProblemContext } from '../problem-json.js';
import { type EngineFailure, engineFailureOf, renderEngineError, renderFailure } from './engine-failure.js';
import { JSON_FIELDS, PING_EVENT, STREAM_FIELDS } from './frames.js';
import type { ThinkingMode } from './messages-request.js';
import { errorEvent, problemEvent } from './render-problem.js';
import { StreamRenderer } from './stream-renderer.js';
import { messageJson } from './whole-message.js';

/** What the rendering of one answer has to know of its request. */
export interface AnthropicRenderingTerms {
  readonly model: string;
  readonly stream: boolean;
  readonly thinking: ThinkingMode;
  /** Tokens. */
  readonly estimatedInputTokens: number;
  readonly context: ProblemContext;
}

const NOTHING = Buffer.alloc(0);
/** An answer has to be held to be written anew, however large it is. */
const WHOLE_LIMIT_BYTES = 64 * 1024 * 1024;

/** Answers of chat completions as answers of the Messages dialect, chunk by chunk. */
export class AnthropicRendering implements Rendering {
  readonly wholeLimitBytes = WHOLE_LIMIT_BYTES;
  private readonly events: StreamRenderer;
  private readonly id: string;
  private headers: EngineHeaders = {};
  private status = 200;
  private way: 'unknown' | 'stream' | 'whole' = 'unknown';
  /** The head of a stream has gone out before the engine's: what follows has to be events. */
  private committed = false;
  private wholeUsage: Usage | undefined;
  /** Of an answer that came whole and without its usage. */
  private wholeTokens = 0;
  private wholeFailed = false;

  constructor(private readonly terms: AnthropicRenderingTerms) {
    const { requestId } = terms.context;
    this.id = `msg_${requestId}`;
    this.events = new StreamRenderer({ ...terms, id: this.id }, requestId);
  }

  get failed(): boolean {
    return this.wholeFailed || this.events.failed;
  }

  get usage(): Usage | undefined {
    return this.wholeUsage ?? this.events.usage;
  }

  get deliveredTokens(): number {
    return Math.max(this.events.deliveredTokens, this.wholeTokens);
  }

  get contentSeen(): boolean {
    return this.events.contentSeen;
  }

  begin(status: number, headers: EngineHeaders): 'stream' | 'whole' {
    checkEngineHead(status, headers);
    this.status = status;
    this.headers = headers;
    const streams = this.terms.stream && status < 300 && isEventStream(fieldOf(headers, 'content-type'));
    this.way = streams ? 'stream' : 'whole';
    return this.way;
  }

  head(): ResponseHead {
    if (this.way === 'unknown') this.committed = true;
    return { status: 200, headers: [...STREAM_FIELDS, ...handedOnFields(this.headers)] };
  }

  push(chunk: Uint8Array): Uint8Array {
    if (this.way === 'stream') return this.events.push(chunk);
    throw unusableAnswer('the answer is too large to be translated');
  }

  end(): Uint8Array | GatewayProblem {
    return this.events.end();
  }

  whole(body: Buffer): WholeResponse {
    const { context, stream } = this.terms;
    if (this.status >= 400) {
      if (!this.committed) return renderEngineError(this.status, this.headers, body, context);
      return this.failedWhole(engineFailureOf(engineErrorFromBody(body), this.status));
    }
    const source = body.toString('utf8').replace(/^\uFEFF/, '');
    const answer = parsedJson(source);
    const error = isObject(answer) && !Array.isArray(answer['choices']) ? engineErrorIn(answer) : undefined;
    if (error !== undefined) return this.failedWhole(engineFailureOf(error, 502));
    const choice = firstChoiceOf(answer);
    this.wholeUsage = isObject(answer) ? usageFromOpenAi(answer['usage']) : undefined;
    return stream ? this.asStream(choice, source) : this.asMessage(choice, source);
  }

  failure(problem: GatewayProblem): Uint8Array | undefined {
    if (this.way !== 'whole') return this.events.failure(problem);
    if (!this.committed) return undefined;
    return this.wholeFailed ? NOTHING : problemEvent(problem, this.terms.context.requestId);
  }

  heartbeat(): Uint8Array | undefined {
    if (this.way === 'unknown') this.committed = true;
    return this.way === 'whole' ? (this.wholeFailed ? undefined : PING_EVENT) : this.events.heartbeat();
  }

  private asMessage(choice: JsonObject, source: string): WholeResponse {
    this.wholeTokens = tokensInBody(source.length);
    const body = Buffer.from(messageJson(choice, source, this.wholeUsage, { ...this.terms, id: this.id }));
    return { status: 200, headers: [...JSON_FIELDS, ...handedOnFields(this.headers)], body };
  }

  /** The engine did not stream, though it was asked to: its message is one large delta. */
  private asStream(choice: JsonObject, source: string): WholeResponse {
    const { message: delta, ...members } = choice;
    const usage: unknown = (parsedJson(source) as JsonObject)['usage'];
    const chunk = JSON.stringify({ choices: [{ ...members, index: 0, delta }], usage });
    const events = [`data: ${chunk}\n\n`, 'data: [DONE]\n\n'].map((event) => this.events.push(Buffer.from(event)));
    return { status: 200, headers: [...STREAM_FIELDS, ...handedOnFields(this.headers)], body: Buffer.concat(events) };
  }

  /** An error answer; behind a head that is out already, as the event that can still tell of it. */
  private failedWhole(failure: EngineFailure): WholeResponse {
    const { context } = this.terms;
    if (!this.committed) return renderFailure(failure, this.headers, context);
    this.wholeFailed = true;
    return { status: failure.status, headers: STREAM_FIELDS, body: errorEvent(failure.error, context.requestId) };
  }
}

function firstChoiceOf(answer: unknown): JsonObject {
  const choices: unknown = isObject(answer) ? answer['choices'] : undefined;
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (!isObject(first)) throw unusableAnswer('the answer has no choice');
  return first;
}
