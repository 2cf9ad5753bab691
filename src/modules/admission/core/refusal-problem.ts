import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { Refusal, RefusalReason } from './pool-types.js';

const DETAILS: Readonly<Record<Exclude<Refusal, 'upstream-unreachable'>, (band: string) => string>> = {
  'queue-full': (band) => `All slots are taken, and as many requests of band ${band} wait already as may (overloaded).`,
  'engine-saturated': () => 'The engine has had no room for longer than a request waits for that (overloaded).',
  'queue-timeout': (band) => `No slot came free in the time that a request of band ${band} waits (timeout).`,
  draining: () => 'This gateway is shutting down and takes nothing into its queue (overloaded): another one will.',
};

/** How a wait that ended without a place is told: why, in which band, behind how many, held by what. */
export function refusalProblem(
  refusal: Refusal,
  retryAfterSeconds: number,
  band: string,
  why?: RefusalReason,
  recurs = false,
): GatewayProblem {
  if (refusal === 'upstream-unreachable') {
    return new GatewayProblem(refusal, { detail: 'The engine could not be reached (server_error).' });
  }
  const reason =
    why === undefined ? {} : { waiting: why.waiting, waited_ms: Math.round(why.waitedMs), held_by: why.heldBy };
  return new GatewayProblem(refusal, {
    detail: DETAILS[refusal](band),
    retryAfterSeconds,
    extensions: { band, ...reason },
    recurs,
  });
}
