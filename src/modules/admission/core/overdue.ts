import type { Claims } from './claims.js';
import type { PoolParts } from './pool-parts.js';
import type { Refusal } from './pool-types.js';
import type { Waiter } from './waiter.js';

/** Who has waited too long, and for what. */
export function* overdue(
  { policy, room }: PoolParts,
  claims: Claims | undefined,
  now: number,
): Generator<readonly [Waiter, Refusal]> {
  for (const waiter of room.due(now)) yield [waiter, 'queue-timeout'];
  for (const waiter of claims?.waiters() ?? []) if (waiter.deadline <= now) yield [waiter, 'queue-timeout'];
  if (policy.gauges === undefined) return;
  for (const head of room.heads()) if (head.isSaturated(now, policy.gauges.maxParkMs)) yield [head, 'engine-saturated'];
}
