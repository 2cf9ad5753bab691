import { policyField, standingField } from './rate-limit-fields.js';
import type { Kind } from './tenant-window.js';

/** What one tenant may spend in a window, as far as it is enforced in one place. */
export interface Limits {
  readonly requests: number;
  readonly tokens: number;
  /** The most that a single request may cost. Where nothing else is counted it may take more than `tokens`. */
  readonly largestRequest: number;
  /** The value of `RateLimit-Policy`. */
  readonly policyField: string;
}

/** What is left of a tenant's budget. */
export interface Rest {
  readonly requests: number;
  readonly tokens: number;
}

/** Why a request has to wait, or may not be served at all. */
export interface Refusal {
  /** Which of the two there is too little of. */
  readonly kind: Kind;
  /** Until this very request would fit. undefined: it never will. */
  readonly waitMs: number | undefined;
  readonly rest: Rest;
}

export const limitsOf = ({ requests, tokens }: Rest, largestRequest: number, windowMs: number): Limits => ({
  requests,
  tokens,
  largestRequest,
  policyField: policyField(requests, tokens, windowMs),
});

/** A refusal for one or both reasons: the one that takes longer is told. 0: of this there is enough. */
export function refusalOf(waitMs: Readonly<Record<Kind, number>>, rest: Rest): Refusal {
  const kind = waitMs.requests >= waitMs.tokens ? 'requests' : 'tokens';
  return { kind, waitMs: waitMs[kind], rest };
}

/** The fields that tell a client where it stands: what is left, and in how many seconds all of it is back. */
export function fieldsOf(limits: Limits, rest: Rest, windowMs: number): readonly string[] {
  const standing = standingField({ rest: rest.requests, inMs: windowMs }, { rest: rest.tokens, inMs: windowMs });
  return ['ratelimit-policy', limits.policyField, 'ratelimit', standing];
}
