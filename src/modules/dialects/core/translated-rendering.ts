import { type Usage, usageFromOpenAi } from '../../../common/canonical/usage.js';
import type { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { EngineHeaders, Rendering, ResponseHead, WholeResponse } from '../../../common/rendering.js';
import { tokensInBody } from './delivered-tokens.js';
import { type EngineError, engineErrorFromBody, engineErrorIn } from './engine-error.js';
import { checkEngineHead, fieldOf, handedOnFields, isEventStream, unusableAnswer } from './engine-head.js';
import { isObject, type JsonObject, parsedJson } from './json-value.js';
import { JSON_FIELDS, STREAM_FIELDS } from './response-fields.js';
import { type AnswerEvents, TranslatedStream } from './translated-stream.js';

/** How a dialect says what chat completions have said. */
export interface AnswerWords {
  /** The client asked for a stream. */
  readonly stream: boolean;
  readonly events: AnswerEvents;
  /** A whole chat answer in JSON; `choice` is its first, `source` its JSON text. */
  whole(choice: JsonObject, source: string, usage: Usage | undefined): string;
  /** An engine's answer with an error status. */
  refused(status: number, headers: EngineHeaders, body: Buffer): WholeResponse;
  /** An error that the engine sent with a status of success. */
  disguised(error: EngineError, headers: EngineHeaders): WholeResponse;
}

const DISGUISED_STATUS = 502;
/** An answer has to be held to be written anew, however large it is. */
const WHOLE_LIMIT_BYTES = 64 * 1024 * 1024;

/** Answers of chat completions as answers of another dialect, chunk by chunk. */
export class TranslatedRendering implements Rendering {
  readonly wholeLimitBytes = WHOLE_LIMIT_BYTES;
  private readonly stream: TranslatedStream;
  private headers: EngineHeaders = {};
  private status = 200;
  private way: 'unknown' | 'stream' | 'whole' = 'unknown';
  /** The head of a stream has gone out before the engine's: what follows has to be events. */
  private committed = false;
  private wholeUsage: Usage | undefined;
  /** Of an answer that came whole and without its usage. */
  private wholeTokens = 0;

  constructor(private readonly words: AnswerWords) {
    this.stream = new TranslatedStream(words.events);
  }

  get failed(): boolean {
    return this.stream.failed;
  }

  get usage(): Usage | undefined {
    return this.wholeUsage ?? this.stream.usage;
  }

  get deliveredTokens(): number {
    return Math.max(this.stream.deliveredTokens, this.wholeTokens);
  }

  get contentSeen(): boolean {
    return this.stream.contentSeen;
  }

  begin(status: number, headers: EngineHeaders): 'stream' | 'whole' {
    checkEngineHead(status, headers);
    this.status = status;
    this.headers = headers;
    const streams = this.words.stream && status < 300 && isEventStream(fieldOf(headers, 'content-type'));
    this.way = streams ? 'stream' : 'whole';
    return this.way;
  }

  head(): ResponseHead {
    if (this.way === 'unknown') this.committed = true;
    return { status: 200, headers: [...STREAM_FIELDS, ...handedOnFields(this.headers)] };
  }

  push(chunk: Uint8Array): Uint8Array {
    if (this.way === 'stream') return this.stream.push(chunk);
    throw unusableAnswer('the answer is too large to be translated');
  }

  end(): Uint8Array | GatewayProblem {
    return this.stream.end();
  }

  whole(body: Buffer): WholeResponse {
    if (this.status >= 400) {
      if (!this.committed) return this.words.refused(this.status, this.headers, body);
      return this.inStream(this.stream.refused(engineErrorFromBody(body), this.status));
    }
    const source = body.toString('utf8').replace(/^\uFEFF/, '');
    const answer = parsedJson(source);
    const error = engineErrorIn(answer);
    if (error !== undefined) {
      if (!this.committed) return this.words.disguised(error, this.headers);
      return this.inStream(this.stream.refused(error, DISGUISED_STATUS));
    }
    const choice = firstChoiceOf(answer);
    const usage: unknown = isObject(answer) ? answer['usage'] : undefined;
    this.wholeUsage = usageFromOpenAi(usage);
    // The engine did not stream, though it was asked to: its message is one large delta.
    const asked = { choices: [{ ...choice, index: 0 }], usage };
    return this.words.stream ? this.inStream(this.stream.answer(asked, source)) : this.answer(choice, source);
  }

  failure(problem: GatewayProblem): Uint8Array | undefined {
    return this.way === 'whole' && !this.committed ? undefined : this.stream.failure(problem);
  }

  heartbeat(): Uint8Array | undefined {
    // An error has its status, and needs no life kept in it.
    if (this.way === 'whole' && this.status >= 300) return undefined;
    // From here on the client reads a stream, also where the engine has begun an answer that is none.
    if (this.way !== 'stream') this.committed = true;
    return this.stream.heartbeat();
  }

  private answer(choice: JsonObject, source: string): WholeResponse {
    this.wholeTokens = tokensInBody(source.length);
    const body = Buffer.from(this.words.whole(choice, source, this.wholeUsage));
    return { status: 200, headers: [...JSON_FIELDS, ...handedOnFields(this.headers)], body };
  }

  private inStream(body: Buffer): WholeResponse {
    return { status: 200, headers: [...STREAM_FIELDS, ...handedOnFields(this.headers)], body };
  }
}

function firstChoiceOf(answer: unknown): JsonObject {
  const choices: unknown = isObject(answer) ? answer['choices'] : undefined;
  const first: unknown = Array.isArray(choices) ? choices[0] : undefined;
  if (!isObject(first)) throw unusableAnswer('the answer has no choice');
  return first;
}
