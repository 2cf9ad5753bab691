/**
 * Every problem this gateway can answer, by code: the HTTP status and the title that RFC 9457 wants to stay the same
 * from one occurrence to the next. A code is the slug of the problem's type and, in snake case, the reason in logs and
 * metrics. `retryable: false` on a 5xx or 429 tells official SDKs not to try again.
 */
export const PROBLEMS = {
  'invalid-request-head': { status: 400, title: 'The request head is not valid HTTP', retryable: false },
  'invalid-body': { status: 400, title: 'The body is not a valid JSON object', retryable: false },
  'missing-model': { status: 400, title: 'The body names no model', retryable: false },
  'unknown-model': { status: 400, title: 'No such model', retryable: false },
  'unsupported-operation': { status: 400, title: 'The model does not do this', retryable: false },
  'invalid-request': { status: 400, title: 'A field is not acceptable', retryable: false },
  unauthenticated: { status: 401, title: 'No valid token', retryable: false },
  forbidden: { status: 403, title: 'The token lacks the right', retryable: false },
  'not-found': { status: 404, title: 'No such path', retryable: false },
  'model-not-found': { status: 404, title: 'No such model', retryable: false },
  'method-not-allowed': { status: 405, title: 'The path does not take this method', retryable: false },
  'body-timeout': { status: 408, title: 'The body did not arrive in time', retryable: true },
  'body-too-large': { status: 413, title: 'The body is too large', retryable: false },
  'target-too-long': { status: 414, title: 'The request target is too long', retryable: false },
  'unsupported-media-type': {
    status: 415,
    title: 'The body has a type or encoding that is not taken',
    retryable: false,
  },
  'expectation-failed': { status: 417, title: 'The expectation is not met', retryable: false },
  'upgrade-required': { status: 426, title: 'The path is served over WebSocket only', retryable: false },
  'budget-exhausted': { status: 429, title: 'The budget is spent', retryable: true },
  'headers-too-large': { status: 431, title: 'The request head is too large', retryable: false },
  internal: { status: 500, title: 'The gateway failed', retryable: true },
  'method-unknown': { status: 501, title: 'The method is not known', retryable: false },
  'upstream-refused-us': { status: 502, title: 'The engine refused the gateway', retryable: false },
  'upstream-unreachable': { status: 502, title: 'The engine could not be reached', retryable: true },
  'upstream-invalid': { status: 502, title: 'The engine answered with something that is not usable', retryable: true },
  'upstream-failed': { status: 502, title: 'The engine failed', retryable: true },
  'identity-unavailable': { status: 503, title: 'The keys of the issuer are not available', retryable: true },
  'queue-full': { status: 503, title: 'The queue is full', retryable: true },
  'engine-saturated': { status: 503, title: 'The engine has no room', retryable: true },
  draining: { status: 503, title: 'The gateway is shutting down', retryable: true },
  'not-ready': { status: 503, title: 'The gateway is not ready for traffic', retryable: true },
  'memory-exhausted': { status: 503, title: 'Too many request bodies are held', retryable: true },
  'queue-timeout': { status: 504, title: 'The wait in the queue was too long', retryable: true },
  'upstream-timeout': { status: 504, title: 'The engine did not answer in time', retryable: true },
  'version-not-supported': { status: 505, title: 'The HTTP version is not supported', retryable: false },
} as const satisfies Record<string, ProblemKind>;

export interface ProblemKind {
  readonly status: number;
  readonly title: string;
  readonly retryable: boolean;
}

export type ProblemCode = keyof typeof PROBLEMS;

/** The problem's name in logs and metric labels: its code in snake case. */
export const reasonOf = (code: ProblemCode): string => REASONS[code];

const CODES = Object.keys(PROBLEMS) as ProblemCode[];
const REASONS = Object.fromEntries(CODES.map((code) => [code, code.replaceAll('-', '_')])) as Readonly<
  Record<ProblemCode, string>
>;
