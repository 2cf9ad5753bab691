import { GatewayProblem } from '../../common/problem/gateway-problem.js';

/**
 * What serving a request has come to: a promise, or at once the problem that it is refused with. Under overload most
 * requests are, and an exception that goes up through ten calls and a promise costs as much as all that decides on it.
 */
export type Served = Promise<void> | GatewayProblem;

/** The same for callers who expect an exception. */
export const settled = (served: Served): Promise<void> =>
  served instanceof GatewayProblem ? Promise.reject(served) : served;
