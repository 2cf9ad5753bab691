import type { Usage } from '../../../../common/canonical/usage.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { JsonBytes } from '../json-bytes.js';
import { numberAt } from '../json-number.js';
import { eachElement, eachMember } from '../json-walk.js';

/** A longer body is not worth the walk: a few searches of its bytes tell as much. */
const SHORT_BYTES = 16 * 1024;
const NO_BYTES = new JsonBytes(new Uint8Array(0));
const CLOSE_BRACKET = 0x5d;
const ROOT_DEPTH = 1;
const CHOICE_DEPTH = 3;
const MESSAGE_DEPTH = 4;
const USAGE_DEPTH = 2;

/** What has to be known of a whole answer before it goes on. */
export interface ReadAnswer {
  /** One of the lists that make it an answer is there. */
  readonly isAnswer: boolean;
  /** It has an `error` that says something. */
  readonly hasError: boolean;
  /** What its `usage` says; undefined: it has none, or none that is an object. */
  readonly usage: Usage | undefined;
  /** A message has no role, or calls tools: it may have to be mended. */
  readonly maybeAmiss: boolean;
}

/** Whether the answer is read at all. */
export const isShort = (body: Buffer): boolean => body.length <= SHORT_BYTES;

/** Reads a short answer in one walk; undefined: it is long, or no JSON object. */
export function readAnswer(body: Buffer): ReadAnswer | undefined {
  return isShort(body) ? reader.read(body) : undefined;
}

const isNothing = (json: JsonBytes, at: number): boolean =>
  json.isNull(at) || (json.isArray(at) && json.byte(json.skipSpace(at + 1)) === CLOSE_BRACKET);

/** Walking is synchronous: one reader serves every answer, and nothing is made anew for each of its members. */
class AnswerReader {
  #json = NO_BYTES;
  #isAnswer = false;
  #hasError = false;
  #maybeAmiss = false;
  #hasRole = false;
  #usage: { -readonly [name in keyof Usage]: number } | undefined;

  read(body: Buffer): ReadAnswer | undefined {
    const json = (this.#json = new JsonBytes(body));
    this.#isAnswer = this.#hasError = this.#maybeAmiss = false;
    this.#usage = undefined;
    try {
      const open = json.skipSpace(0);
      if (!json.isObject(open) || json.skipSpace(eachMember(json, open, this.#member)) !== body.length)
        return undefined;
    } catch (error) {
      if (error instanceof GatewayProblem) return undefined;
      throw error;
    } finally {
      this.#json = NO_BYTES;
    }
    return {
      isAnswer: this.#isAnswer,
      hasError: this.#hasError,
      usage: this.#usage,
      maybeAmiss: this.#maybeAmiss,
    };
  }

  readonly #member = (keyStart: number, keyEnd: number, valueStart: number): number => {
    const json = this.#json;
    if (json.isArray(valueStart) && this.#isList(keyStart, keyEnd)) {
      this.#isAnswer = true;
      return eachElement(json, valueStart, this.#choice);
    }
    if (json.says(keyStart, keyEnd, 'error')) this.#hasError ||= json.isObject(valueStart) || json.isString(valueStart);
    if (!json.says(keyStart, keyEnd, 'usage') || !json.isObject(valueStart))
      return json.endOfValue(valueStart, ROOT_DEPTH);
    this.#usage = { promptTokens: 0, completionTokens: 0, cachedTokens: 0, reasoningTokens: 0 };
    return eachMember(json, valueStart, this.#count);
  };

  #isList(keyStart: number, keyEnd: number): boolean {
    const json = this.#json;
    return (
      json.says(keyStart, keyEnd, 'choices') ||
      json.says(keyStart, keyEnd, 'data') ||
      json.says(keyStart, keyEnd, 'results')
    );
  }

  readonly #choice = (start: number): number =>
    this.#json.isObject(start)
      ? eachMember(this.#json, start, this.#partOfChoice)
      : this.#json.endOfValue(start, CHOICE_DEPTH - 1);

  readonly #partOfChoice = (keyStart: number, keyEnd: number, valueStart: number): number => {
    const json = this.#json;
    if (!json.says(keyStart, keyEnd, 'message') || !json.isObject(valueStart))
      return json.endOfValue(valueStart, CHOICE_DEPTH);
    this.#hasRole = false;
    const end = eachMember(json, valueStart, this.#partOfMessage);
    this.#maybeAmiss ||= !this.#hasRole;
    return end;
  };

  readonly #partOfMessage = (keyStart: number, keyEnd: number, valueStart: number): number => {
    const json = this.#json;
    if (json.says(keyStart, keyEnd, 'role')) this.#hasRole = json.isString(valueStart);
    else if (json.says(keyStart, keyEnd, 'tool_calls') && !isNothing(json, valueStart)) this.#maybeAmiss = true;
    return json.endOfValue(valueStart, MESSAGE_DEPTH);
  };

  readonly #count = (keyStart: number, keyEnd: number, valueStart: number): number => {
    const json = this.#json;
    if (json.isObject(valueStart)) {
      if (json.says(keyStart, keyEnd, 'prompt_tokens_details')) return eachMember(json, valueStart, this.#promptDetail);
      if (json.says(keyStart, keyEnd, 'completion_tokens_details'))
        return eachMember(json, valueStart, this.#completionDetail);
    }
    if (json.says(keyStart, keyEnd, 'prompt_tokens')) return this.#counted('promptTokens', valueStart);
    if (json.says(keyStart, keyEnd, 'completion_tokens')) return this.#counted('completionTokens', valueStart);
    return json.endOfValue(valueStart, USAGE_DEPTH);
  };

  readonly #promptDetail = (keyStart: number, keyEnd: number, valueStart: number): number =>
    this.#json.says(keyStart, keyEnd, 'cached_tokens')
      ? this.#counted('cachedTokens', valueStart)
      : this.#json.endOfValue(valueStart, USAGE_DEPTH + 1);

  readonly #completionDetail = (keyStart: number, keyEnd: number, valueStart: number): number =>
    this.#json.says(keyStart, keyEnd, 'reasoning_tokens')
      ? this.#counted('reasoningTokens', valueStart)
      : this.#json.endOfValue(valueStart, USAGE_DEPTH + 1);

  /** Senseless numbers count as 0. */
  #counted(name: keyof Usage, valueStart: number): number {
    const end = this.#json.endOfValue(valueStart, USAGE_DEPTH);
    const value = numberAt(this.#json, valueStart, end);
    if (this.#usage !== undefined) this.#usage[name] = Number.isFinite(value) && value > 0 ? value : 0;
    return end;
  }
}

const reader = new AnswerReader();
