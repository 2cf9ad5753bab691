import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { Refusal } from './pool-types.js';

/** How a wait that ended without a place is told. */
export function refusalProblem(refusal: Refusal, retryAfterSeconds: number, band: string): GatewayProblem {
  switch (refusal) {
    case 'queue-full':
      return new GatewayProblem(refusal, {
        detail: `All slots are taken, and as many requests of band ${band} wait already as may (overloaded).`,
        retryAfterSeconds,
        extensions: { band },
      });
    case 'engine-saturated':
      return new GatewayProblem(refusal, {
        detail: 'The engine has had no room for longer than a request waits for that (overloaded).',
        retryAfterSeconds,
        extensions: { band },
      });
    case 'queue-timeout':
      return new GatewayProblem(refusal, {
        detail: `No slot came free in the time that a request of band ${band} waits (timeout).`,
        retryAfterSeconds,
        extensions: { band },
      });
    case 'draining':
      return new GatewayProblem(refusal, {
        detail: 'This gateway is shutting down and takes nothing into its queue (overloaded): another one will.',
        retryAfterSeconds,
      });
    case 'upstream-unreachable':
      return new GatewayProblem(refusal, { detail: 'The engine could not be reached (server_error).' });
  }
}
