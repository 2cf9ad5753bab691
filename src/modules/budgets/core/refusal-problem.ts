import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { Limits, Refusal } from './limits.js';
import { standingField } from './rate-limit-fields.js';

/** What a caller is told whose budget does not hold its request: what is left, and when the request would fit. */
export function refusalProblem(refusal: Refusal, limits: Limits, tokens: number, windowMs: number): GatewayProblem {
  const { kind, rest, waitMs } = refusal;
  const inMs = (of: typeof kind): number => (of === kind ? (waitMs ?? windowMs) : windowMs);
  const requests = { rest: rest.requests, inMs: inMs('requests') };
  const standing = standingField(requests, { rest: rest.tokens, inMs: inMs('tokens') });
  return new GatewayProblem('budget-exhausted', {
    detail: detailOf(refusal, limits, tokens, windowMs / 1000),
    cause: kind,
    extensions: { budget: kind, limit: limits[kind], remaining: Math.max(0, rest[kind]), window: windowMs / 1000 },
    headers: { 'ratelimit-policy': limits.policyField, ratelimit: standing },
    ...(waitMs === undefined ? { retryable: false } : { retryAfterSeconds: waitMs / 1000 }),
  });
}

function detailOf({ kind, waitMs, rest }: Refusal, limits: Limits, tokens: number, seconds: number): string {
  const window = `${String(seconds)} s`;
  if (kind === 'requests') return `All ${limits.requests} requests that this tenant may send in ${window} are used up.`;
  const cost = `This request may take up to ${tokens} tokens`;
  if (waitMs !== undefined)
    return `${cost}, and of the ${limits.tokens} that this tenant may take in ${window} ${Math.max(0, rest.tokens)} are left.`;
  return `${cost}, more than the ${limits.largestRequest} that this tenant may take in ${window}: it needs a lower limit of output tokens, or a shorter prompt.`;
}
