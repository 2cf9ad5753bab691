import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { EngineHeaders, WholeResponse } from '../../../common/rendering.js';
import { type ProblemContext, problemJson } from './problem-json.js';
import {
  CONTEXT_OVERFLOW_CODE,
  type EngineError,
  engineErrorFromBody,
  engineErrorIn,
  isContextOverflow,
} from './engine-error.js';
import { fieldOf, handedOnFields, isJsonType } from './engine-head.js';
import { withMember } from './json-splice.js';
import { isObject, isText, type JsonObject, parsedJson } from './json-value.js';
import { retryWordOf, withRetryWord } from './retry-word.js';
import type { OpenAiError } from './openai-problem.js';

/** An engine's error as the client is to see it, and the status it has there. */
export interface EngineFailure {
  readonly status: number;
  readonly error: OpenAiError;
}

const TYPE_BY_STATUS: ReadonlyMap<number, string> = new Map([
  [404, 'not_found_error'],
  [429, 'rate_limit_error'],
]);

/** An engine's error in the dialect's members. Its own type and code stay; a context overflow gets the known code. */
export function engineFailureOf(error: EngineError, status: number): EngineFailure {
  if (isContextOverflow(error)) return { status: 400, error: overflow(error) };
  const type = TYPE_BY_STATUS.get(status) ?? (status >= 500 ? 'server_error' : 'invalid_request_error');
  return {
    status,
    error: {
      message: withRetryWord(error.message, retryWordOf(status)),
      type: error.type ?? type,
      param: error.param,
      code: error.code ?? (status === 429 ? 'rate_limit_exceeded' : null),
    },
  };
}

/** An engine's answer with an error status: as it is where clients can read it, otherwise wrapped. */
export function renderEngineError(
  status: number,
  headers: EngineHeaders,
  body: Buffer,
  context: ProblemContext,
): WholeResponse {
  const source = body.toString('utf8');
  const value = parsedJson(source);
  if (!hasReadableError(value)) {
    return wrapped(engineFailureOf(engineErrorFromBody(body), status), headers, context);
  }
  const known = engineErrorIn(value);
  const isOverflow = known !== undefined && isContextOverflow(known);
  const type = fieldOf(headers, 'content-type');
  return {
    status: isOverflow ? 400 : status,
    headers: [...handedOnFields(headers), ...contentFields(isJsonType(type) ? type : 'application/json')],
    body: isOverflow ? Buffer.from(withOverflowCode(source, value['error'])) : body,
  };
}

/** The same for an error that came under another status, or without one. */
export function wrapped(failure: EngineFailure, headers: EngineHeaders, context: ProblemContext): WholeResponse {
  const problem = new GatewayProblem('upstream-failed', { detail: failure.error.message, status: failure.status });
  const body = { ...problemJson(problem, context), error: failure.error };
  return {
    status: failure.status,
    headers: [...handedOnFields(headers), ...contentFields('application/problem+json')],
    body: Buffer.from(JSON.stringify(body)),
  };
}

const contentFields = (type: string): string[] => ['content-type', type, 'x-content-type-options', 'nosniff'];

type WithError = JsonObject & { readonly error: JsonObject };

function hasReadableError(value: unknown): value is WithError {
  return isObject(value) && isObject(value['error']) && isText(value['error']['message']);
}

function overflow(error: EngineError): OpenAiError {
  return { message: error.message, type: 'invalid_request_error', param: error.param, code: CONTEXT_OVERFLOW_CODE };
}

/** The engine's own body, its error complete and with the code that clients know. */
function withOverflowCode(source: string, error: JsonObject): string {
  const coded = withMember(source, ['error', 'code'], JSON.stringify(CONTEXT_OVERFLOW_CODE));
  const typed = isText(error['type']) ? coded : withMember(coded, ['error', 'type'], '"invalid_request_error"');
  return 'param' in error ? typed : withMember(typed, ['error', 'param'], 'null');
}
