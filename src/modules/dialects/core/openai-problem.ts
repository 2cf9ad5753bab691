import type { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { ProblemCode } from '../../../common/problem/problems.js';
import type { WholeResponse } from '../../../common/rendering.js';
import { eventBytes } from '../../../common/sse.js';
import { type ProblemContext, problemHeaders, problemJson } from './problem-json.js';
import { type RetryWord, withRetryWord } from './retry-word.js';

/** The dialect's error object. Its clients read this and nothing else of an error body. */
export interface OpenAiError {
  readonly message: string;
  readonly type: string;
  readonly param: unknown;
  readonly code: unknown;
}

interface ErrorKind {
  readonly type: string;
  readonly code: string;
  readonly word?: RetryWord;
  readonly param?: string;
}

const invalid = (code: string, param?: string): ErrorKind => ({
  type: 'invalid_request_error',
  code,
  ...(param === undefined ? {} : { param }),
});
const failed = (code: string): ErrorKind => ({ type: 'server_error', code, word: 'server_error' });
const busy = (code: string): ErrorKind => ({ type: 'server_error', code, word: 'overloaded' });
const late = (code: string, type: string): ErrorKind => ({ type, code, word: 'timeout' });

/** What is not worth a retry must not have the type `server_error` either: clients take that for an invitation. */
const ERROR_KINDS: Readonly<Record<ProblemCode, ErrorKind>> = {
  'invalid-request-head': invalid('invalid_request_head'),
  'invalid-body': invalid('invalid_body'),
  'missing-model': invalid('missing_model', 'model'),
  'unknown-model': invalid('model_not_found', 'model'),
  'unsupported-operation': invalid('unsupported_operation', 'model'),
  'invalid-request': invalid('invalid_request'),
  unauthenticated: { type: 'authentication_error', code: 'invalid_api_key' },
  forbidden: { type: 'permission_error', code: 'insufficient_permissions' },
  'not-found': invalid('not_found'),
  'model-not-found': invalid('model_not_found', 'model'),
  'method-not-allowed': invalid('method_not_allowed'),
  'body-timeout': late('body_timeout', 'invalid_request_error'),
  'body-too-large': invalid('body_too_large'),
  'target-too-long': invalid('target_too_long'),
  'unsupported-media-type': invalid('unsupported_media_type'),
  'expectation-failed': invalid('expectation_failed'),
  'upgrade-required': invalid('upgrade_required'),
  'budget-exhausted': { type: 'rate_limit_error', code: 'rate_limit_exceeded', word: 'rate limit' },
  'headers-too-large': invalid('headers_too_large'),
  internal: failed('internal_error'),
  'method-unknown': invalid('method_unknown'),
  'upstream-refused-us': { type: 'upstream_error', code: 'upstream_refused_us' },
  'upstream-unreachable': failed('upstream_unreachable'),
  'upstream-invalid': failed('upstream_invalid'),
  'upstream-failed': failed('upstream_failed'),
  'identity-unavailable': failed('identity_unavailable'),
  'queue-full': busy('queue_full'),
  'engine-saturated': busy('engine_saturated'),
  draining: busy('draining'),
  'not-ready': busy('not_ready'),
  'memory-exhausted': busy('memory_exhausted'),
  'queue-timeout': late('queue_timeout', 'server_error'),
  'upstream-timeout': late('upstream_timeout', 'server_error'),
  'version-not-supported': invalid('version_not_supported'),
};

export function openAiErrorOf(problem: GatewayProblem): OpenAiError {
  const kind = ERROR_KINDS[problem.code];
  return {
    message: withRetryWord(problem.options.detail, problem.retryable ? kind.word : undefined),
    type: kind.type,
    param: problem.options.param ?? kind.param ?? null,
    code: kind.code,
  };
}

/** A problem as a response: RFC 9457 and the dialect's `error` in one object, since either alone is lost on someone. */
export function renderOpenAiProblem(problem: GatewayProblem, context: ProblemContext): WholeResponse {
  const body = { ...problemJson(problem, context), error: openAiErrorOf(problem) };
  return { status: problem.status, headers: problemHeaders(problem), body: Buffer.from(JSON.stringify(body)) };
}

/** The same inside a stream. */
export function problemEvent(problem: GatewayProblem): Buffer {
  return errorEvent(openAiErrorOf(problem));
}

export function errorEvent(error: OpenAiError): Buffer {
  return eventBytes(JSON.stringify({ error }));
}
