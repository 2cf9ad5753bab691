import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { EngineHeaders, WholeResponse } from '../../../../common/rendering.js';
import { type EngineError, engineErrorFromBody, isContextOverflow } from '../engine-error.js';
import { handedOnFields } from '../engine-head.js';
import type { ProblemContext } from '../problem-json.js';
import { retryWordOf, withRetryWord } from '../retry-word.js';
import { problemBody } from './render-problem.js';
import type { AnthropicError } from './wire.js';

/** An engine's error as the client is to see it, and the status it has there. */
export interface EngineFailure {
  readonly status: number;
  readonly error: AnthropicError;
}

const TYPE_BY_STATUS: ReadonlyMap<number, string> = new Map([
  [404, 'not_found_error'],
  [408, 'timeout_error'],
  [409, 'conflict_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [503, 'overloaded_error'],
  [504, 'timeout_error'],
]);
/** What the dialect says in other numbers. Against the gateway's own credential no client can do anything. */
const STATUS_BY_STATUS: ReadonlyMap<number, number> = new Map([
  [401, 502],
  [403, 502],
  [422, 400],
  [529, 503],
]);

/** Clients begin to compact their history on the words `prompt is too long`. */
export function engineFailureOf(error: EngineError, engineStatus: number): EngineFailure {
  if (isContextOverflow(error)) {
    const message = `prompt is too long: ${error.message}`;
    return { status: 400, error: { type: 'invalid_request_error', message } };
  }
  const status = STATUS_BY_STATUS.get(engineStatus) ?? engineStatus;
  const type = TYPE_BY_STATUS.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
  return { status, error: { type, message: withRetryWord(error.message, retryWordOf(status)) } };
}

/** An engine's answer with an error status. */
export function renderEngineError(
  status: number,
  headers: EngineHeaders,
  body: Buffer,
  context: ProblemContext,
): WholeResponse {
  return renderFailure(engineFailureOf(engineErrorFromBody(body), status), headers, context);
}

export function renderFailure(failure: EngineFailure, headers: EngineHeaders, context: ProblemContext): WholeResponse {
  const problem = new GatewayProblem('upstream-failed', { detail: failure.error.message, status: failure.status });
  const fields = ['content-type', 'application/problem+json', 'x-content-type-options', 'nosniff'];
  return {
    status: failure.status,
    headers: [...fields, ...handedOnFields(headers)],
    body: problemBody(problem, failure.error, context),
  };
}
