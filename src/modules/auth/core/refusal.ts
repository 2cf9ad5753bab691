import type { Right } from '../../../common/config/access-table.js';
import { GatewayProblem, type ProblemOptions } from '../../../common/problem/gateway-problem.js';
import type { ProblemCode } from '../../../common/problem/problems.js';

/** Why a caller was turned away, in the words of `auth_rejected_total`. */
export const REFUSAL_REASONS = [
  'missing', 'malformed', 'expired', 'signature', 'issuer', 'audience', 'algorithm', 'scope', 'jwks',
] as const; // prettier-ignore
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** A problem that auth has with a request: what the caller is told, and the reason that is counted. */
export class Refusal extends GatewayProblem {
  constructor(
    readonly reason: RefusalReason,
    code: ProblemCode,
    options: ProblemOptions,
  ) {
    super(code, { ...options, cause: options.cause ?? reason });
  }
}

/** How soon an issuer that is down is asked again. */
const RETRY_AFTER_SECONDS = 5;

/** What is told does not say what would have been right: that is nobody's business who has no valid token. */
const DETAILS: Readonly<Record<Exclude<RefusalReason, 'missing' | 'scope' | 'jwks'>, string>> = {
  malformed: 'The credential is not an access token that this gateway takes.',
  expired: 'The token is not valid at this time: it has expired, is not valid yet, or would live for too long.',
  signature: "The token's signature is not valid.",
  issuer: 'The token is not of an issuer whose tokens are taken here.',
  audience: 'The token is not meant for this gateway.',
  algorithm: 'The token is signed with an algorithm that is not taken.',
};

/** 401: whoever knocks at every door gets this one, which says the same of all. */
export const NO_TOKEN = new Refusal('missing', 'unauthenticated', {
  detail: 'A token is needed: send it as "Authorization: Bearer TOKEN".',
  headers: { 'WWW-Authenticate': 'Bearer' },
  recurs: true,
});

/** 401. `cause` is for the log alone. */
export const unauthenticated = (reason: keyof typeof DETAILS, cause?: string): Refusal =>
  new Refusal(reason, 'unauthenticated', {
    detail: DETAILS[reason],
    headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
    ...(cause === undefined ? {} : { cause: `${reason}: ${cause}` }),
  });

/** 403: names what the token lacks. */
export function forbidden(right: Right, lacking: 'scope' | 'group'): Refusal {
  const { scope = '', group = '' } = right;
  const detail =
    lacking === 'scope' ? `The token lacks the scope ${scope}.` : `The token's owner is not in the group ${group}.`;
  return new Refusal('scope', 'forbidden', {
    detail,
    extensions: lacking === 'scope' ? { scope } : { scope, group },
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}

/** 400: which of the two counts, is not for the gateway to guess. */
export const ambiguous = (): Refusal =>
  new Refusal('malformed', 'invalid-request', {
    detail: 'Two different credentials are given: send one, or the same one twice.',
    cause: 'malformed: two credentials',
  });

/** 503: it is not the caller's fault. */
export const identityUnavailable = (): Refusal =>
  new Refusal('jwks', 'identity-unavailable', {
    detail: 'Tokens cannot be verified now: the keys of their issuer are not available.',
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
