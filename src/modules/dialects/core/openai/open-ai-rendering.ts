import type { Operation } from '../../../../common/canonical/canonical-request.js';
import type { Usage } from '../../../../common/canonical/usage.js';
import type { EngineKind } from '../../../../common/config/upstreams.config.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { EngineHeaders, Rendering, ResponseHead, WholeResponse } from '../../../../common/rendering.js';
import type { ProblemContext } from '../problem-json.js';
import { type ResponseQuirks, responseQuirksOf } from '../quirks.js';
import { answerAsStream } from './answer-as-stream.js';
import { type VectorEncoding, withVectors } from './embedding-vectors.js';
import { tokensInBody } from '../delivered-tokens.js';
import { engineErrorFromBody } from '../engine-error.js';
import { checkEngineHead, fieldOf, handedOnFields, isEventStream, isJsonType } from '../engine-head.js';
import { errorEvent, problemEvent } from '../openai-problem.js';
import { readAnswer, type ReadAnswer } from './read-answer.js';
import { StreamRenderer } from './stream-renderer.js';
import { TailTap, usageInBody } from './usage-tap.js';
import { errorInAnswer, repairedChat } from './whole-answer.js';
import { engineFailureOf, renderEngineError, wrapped } from '../openai-engine-error.js';

/** What the rendering of one answer has to know of its request. */
export interface OpenAiRenderingTerms {
  readonly engine: EngineKind;
  readonly operation: Operation;
  readonly model: string;
  readonly stream: boolean;
  /** How many choices the client asked for: `n`, for each prompt. */
  readonly choices: number;
  /** The client asked for a stream's usage. */
  readonly usageWanted: boolean;
  /** The gateway asked for it, for itself. */
  readonly usageAdded: boolean;
  /** Embeddings: what the client asked for; `float` where it asked for nothing. */
  readonly vectors: VectorEncoding;
  readonly context: ProblemContext;
  /** When the request came, Unix time: the `created` of a chunk that precedes the engine's first. */
  readonly createdSeconds: number;
  /** Turns the answer to a translated rerank request back. Throws a GatewayProblem where it cannot. */
  readonly restore?: (body: Buffer) => Uint8Array;
}

const NOTHING = Buffer.alloc(0);
const WHOLE_LIMIT_BYTES = 1024 * 1024;
/** Vectors to recode, a ranking to turn back and an answer to cut into events have to be held however large they are. */
const RECODED_LIMIT_BYTES = 64 * 1024 * 1024;
const JSON_TYPE = 'application/json';
const PLAIN_TEXT = 'text/plain; charset=utf-8';
const EVENT_STREAM = 'text/event-stream; charset=utf-8';
const NO_SNIFF = ['x-content-type-options', 'nosniff'];
const STREAM_FIELDS = ['cache-control', 'no-store', 'x-accel-buffering', 'no'];

/** Answers in the OpenAI dialect: the engine's bytes as they are, but for the few that clients could not read. */
export class OpenAiRendering implements Rendering {
  readonly wholeLimitBytes: number;
  private readonly quirks: ResponseQuirks;
  private stream: StreamRenderer | undefined = undefined;
  private status = 200;
  private headers: EngineHeaders = {};
  private way: 'unknown' | 'stream' | 'whole' = 'unknown';
  /** A head of a stream has gone out before the engine's: what follows has to be events. */
  private committed = false;
  /** The end of a body that was too large to hold, while it goes by. */
  private passing: TailTap | undefined = undefined;
  private wholeUsage: Usage | undefined = undefined;
  /** Of generated text that came whole. */
  private wholeTokens = 0;
  private wholeFailed = false;

  constructor(private readonly terms: OpenAiRenderingTerms) {
    this.quirks = responseQuirksOf(terms.engine);
    this.wholeLimitBytes = this.mustBeHeld() ? RECODED_LIMIT_BYTES : WHOLE_LIMIT_BYTES;
  }

  /** Made when something of a stream is asked for: most answers have none. */
  private get events(): StreamRenderer {
    const { terms } = this;
    this.stream ??= new StreamRenderer({
      chat: terms.operation === 'chat',
      choices: terms.choices,
      quirks: this.quirks,
      usageWanted: terms.usageWanted,
      usageAdded: terms.usageAdded,
      seed: terms.context.requestId,
      model: terms.model,
      createdSeconds: terms.createdSeconds,
    });
    return this.stream;
  }

  get failed(): boolean {
    return this.wholeFailed || this.stream?.failed === true;
  }

  get usage(): Usage | undefined {
    return this.wholeUsage ?? this.passing?.usage ?? this.stream?.usage;
  }

  get deliveredTokens(): number {
    return Math.max(this.stream?.deliveredTokens ?? 0, this.wholeTokens);
  }

  get contentSeen(): boolean {
    return this.stream?.contentSeen === true || this.passing !== undefined;
  }

  begin(status: number, headers: EngineHeaders): 'stream' | 'whole' {
    checkEngineHead(status, headers);
    this.status = status;
    this.headers = headers;
    this.way = status < 300 && isEventStream(fieldOf(headers, 'content-type')) ? 'stream' : 'whole';
    return this.way;
  }

  /** Before `begin`, the head of a stream that has to be kept alive while its engine is silent. */
  head(): ResponseHead {
    if (this.way === 'unknown') this.committed = true;
    const type = fieldOf(this.headers, 'content-type');
    if (this.way === 'whole' && this.committed) return this.headWith(EVENT_STREAM, STREAM_FIELDS);
    if (this.way !== 'whole') return this.headWith(type ?? EVENT_STREAM, STREAM_FIELDS);
    // Only a body too large to be looked at gets here: nothing but JSON may claim to be more than text.
    return this.headWith(isJsonType(type) ? type : this.status < 300 ? JSON_TYPE : PLAIN_TEXT, NO_SNIFF);
  }

  push(chunk: Uint8Array): Uint8Array {
    if (this.way === 'stream') return this.events.push(chunk);
    if (this.committed) return this.wholeFailed ? NOTHING : this.refuseLargeBody();
    this.passing ??= new TailTap();
    this.passing.push(chunk);
    return chunk;
  }

  end(): Uint8Array | GatewayProblem {
    return this.way === 'stream' ? this.events.end() : NOTHING;
  }

  whole(body: Buffer): WholeResponse {
    const { operation, context } = this.terms;
    if (this.status >= 400) return this.failedWhole(renderEngineError(this.status, this.headers, body, context));
    const read = readAnswer(body);
    const error = errorInAnswer(body, operation, read);
    if (error === undefined) return this.answer(body, read);
    const failure = engineFailureOf(error, 502);
    // A prompt that is too long is the caller's to mend, under whatever status the engine says so.
    if (failure.status === 400) return this.failedWhole(wrapped(failure, this.headers, context));
    const cause = new Error('the engine answered 200 with an error');
    throw new GatewayProblem('upstream-failed', { detail: failure.error.message, cause });
  }

  failure(problem: GatewayProblem): Uint8Array | undefined {
    if (this.passing !== undefined) return undefined;
    if (this.way !== 'whole') return this.events.failure(problem);
    return this.wholeFailed ? NOTHING : problemEvent(problem);
  }

  heartbeat(asEvent: boolean): Uint8Array | undefined {
    // An error has its status, and needs no life kept in it.
    if (this.passing !== undefined || this.wholeFailed || (this.way === 'whole' && this.status >= 300))
      return undefined;
    // From here on the client reads a stream, also where the engine has begun an answer that is none.
    if (this.way !== 'stream') this.committed = true;
    return this.events.heartbeat(asEvent);
  }

  private headWith(contentType: string, fields: readonly string[]): ResponseHead {
    return { status: this.status, headers: ['content-type', contentType, ...fields, ...handedOnFields(this.headers)] };
  }

  private answer(body: Buffer, read: ReadAnswer | undefined): WholeResponse {
    const { operation, restore, vectors, context, stream } = this.terms;
    this.wholeUsage = read?.usage ?? usageInBody(body);
    if (operation === 'chat' || operation === 'completions') this.wholeTokens = tokensInBody(body.length);
    if (operation === 'rerank' && restore !== undefined) return this.success(JSON_TYPE, restore(body));
    if (operation === 'embeddings' && this.quirks.vectors)
      return this.success(this.jsonType(), withVectors(body, vectors));
    const repaired = operation === 'chat' ? repairedChat(body, this.quirks, context.requestId, read) : body;
    if (!stream) return this.success(this.jsonType(), repaired);
    return {
      ...this.headWith(EVENT_STREAM, STREAM_FIELDS),
      body: this.events.push(answerAsStream(repaired, operation === 'chat')),
    };
  }

  private success(contentType: string, body: Uint8Array): WholeResponse {
    return { ...this.headWith(contentType, []), body };
  }

  private jsonType(): string {
    const type = fieldOf(this.headers, 'content-type');
    return isJsonType(type) ? type : JSON_TYPE;
  }

  /** An error answer; behind a head that is out already, as the event that can still tell of it. */
  private failedWhole(response: WholeResponse): WholeResponse {
    if (!this.committed) return response;
    this.wholeFailed = true;
    const error = engineErrorFromBody(Buffer.from(response.body));
    return { ...response, body: errorEvent(engineFailureOf(error, response.status).error) };
  }

  private refuseLargeBody(): Uint8Array {
    this.wholeFailed = true;
    const detail = 'The engine sent an answer that cannot be used in a stream (server_error).';
    return problemEvent(new GatewayProblem('upstream-invalid', { detail }));
  }

  private mustBeHeld(): boolean {
    const { operation, stream, vectors, restore } = this.terms;
    if (operation === 'embeddings') return this.quirks.vectors && vectors === 'base64';
    return stream || restore !== undefined;
  }
}
