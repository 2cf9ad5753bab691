import type { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { ProblemCode } from '../../../../common/problem/problems.js';
import type { WholeResponse } from '../../../../common/rendering.js';
import { type ProblemContext, problemHeaders, problemJson } from '../problem-json.js';
import { type RetryWord, withRetryWord } from '../retry-word.js';
import type { AnthropicError } from './wire.js';

interface ErrorKind {
  readonly type: string;
  readonly word?: RetryWord;
}

const INVALID: ErrorKind = { type: 'invalid_request_error' };
const NOT_FOUND: ErrorKind = { type: 'not_found_error' };
const FAILED: ErrorKind = { type: 'api_error', word: 'server_error' };
const BUSY: ErrorKind = { type: 'overloaded_error', word: 'overloaded' };
const LATE: ErrorKind = { type: 'timeout_error', word: 'timeout' };

const ERROR_KINDS: Readonly<Record<ProblemCode, ErrorKind>> = {
  'invalid-request-head': INVALID,
  'invalid-body': INVALID,
  'missing-model': INVALID,
  'unknown-model': INVALID,
  'unsupported-operation': INVALID,
  'invalid-request': INVALID,
  unauthenticated: { type: 'authentication_error' },
  forbidden: { type: 'permission_error' },
  'not-found': NOT_FOUND,
  'model-not-found': NOT_FOUND,
  'method-not-allowed': INVALID,
  'body-timeout': LATE,
  'body-too-large': { type: 'request_too_large' },
  'target-too-long': INVALID,
  'unsupported-media-type': INVALID,
  'expectation-failed': INVALID,
  'upgrade-required': INVALID,
  'budget-exhausted': { type: 'rate_limit_error', word: 'rate limit' },
  'headers-too-large': INVALID,
  internal: FAILED,
  'method-unknown': INVALID,
  'upstream-refused-us': { type: 'api_error' },
  'upstream-unreachable': FAILED,
  'upstream-invalid': FAILED,
  'upstream-failed': FAILED,
  'identity-unavailable': BUSY,
  'queue-full': BUSY,
  'engine-saturated': BUSY,
  draining: BUSY,
  'not-ready': BUSY,
  'memory-exhausted': BUSY,
  'queue-timeout': LATE,
  'upstream-timeout': LATE,
  'version-not-supported': INVALID,
};

export function anthropicErrorOf(problem: GatewayProblem): AnthropicError {
  const kind = ERROR_KINDS[problem.code];
  const { extensions, detail } = problem.options;
  const details = extensions !== undefined && 'error_code' in extensions ? { details: extensions } : {};
  return { type: kind.type, message: withRetryWord(detail, problem.retryable ? kind.word : undefined), ...details };
}

/** A problem as a response: RFC 9457 with the dialect's error, where `type` is the word `error` and `code` the slug. */
export function renderAnthropicProblem(problem: GatewayProblem, context: ProblemContext): WholeResponse {
  return {
    status: problem.status,
    headers: problemHeaders(problem),
    body: problemBody(problem, anthropicErrorOf(problem), context),
  };
}

/** The body alone, for an error that somebody else has put into words. */
export function problemBody(problem: GatewayProblem, error: AnthropicError, context: ProblemContext): Buffer {
  const body = { ...problemJson(problem, context), type: 'error', code: problem.code, error };
  return Buffer.from(JSON.stringify(body));
}

/** A problem inside a stream. */
export function problemEvent(problem: GatewayProblem, requestId: string): string {
  return errorEvent(anthropicErrorOf(problem), requestId);
}

export function errorEvent(error: AnthropicError, requestId: string): string {
  return `event: error\ndata: ${JSON.stringify({ type: 'error', error, request_id: requestId })}\n\n`;
}
