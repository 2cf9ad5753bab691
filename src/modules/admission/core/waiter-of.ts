import type { PoolParts } from './pool-parts.js';
import type { PoolListener, PoolRequest } from './pool-types.js';
import { workClassOf } from './prefill-rate.js';
import { patienceMs, prefillEstimateMs } from './sizing.js';
import { Waiter, type WaiterTerms } from './waiter.js';

/** A request with what is estimated of it. `came`: when, as which of all, and after how many tries. */
export function waiterOf(
  { policy, endpoints, among }: PoolParts,
  request: PoolRequest,
  listener: PoolListener,
  came: Pick<WaiterTerms, 'since' | 'tries' | 'order' | 'leave'>,
): Waiter {
  const estimateMs = prefillEstimateMs(policy, endpoints.ordered, request);
  const deadline = came.since + patienceMs(policy, request, estimateMs);
  const kind = workClassOf(estimateMs);
  const tenant = among === undefined ? request.tenant : among.sharing.tenantKey(request.tenant);
  const { since, tries, order, leave } = came;
  return new Waiter({ request, tenant, listener, kind, estimateMs, deadline, since, tries, order, leave });
}
