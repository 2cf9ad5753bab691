import { cap, kvLimit, type PoolView } from './admission-tests.js';
import type { EndpointLedger } from './endpoint-ledger.js';
import { entryOf } from './held-lease.js';
import { leaseFrom } from './own-ledger.js';
import type { Claim } from './shared-ledger.js';
import type { Waiter } from './waiter.js';

/** Where a request is to run, and with how much memory. */
export interface ClaimedPlace {
  readonly endpoint: EndpointLedger;
  readonly kvTokens: number;
}

/** What the store is asked for, before the place is counted here: all that this gateway's own tests have let pass. */
export function claimOf(id: string, waiter: Waiter, { endpoint, kvTokens }: ClaimedPlace, view: PoolView): Claim {
  const endpointKvTokens = view.policy.generates ? kvLimit(waiter.band, endpoint, view) : Infinity;
  return {
    id,
    lease: leaseFrom(entryOf(waiter, kvTokens, view.now), endpoint.id, view.now),
    endpointPlaces: cap(waiter.band, endpoint, view),
    poolPlaces: view.policy.limit,
    whenIdle: endpoint.occupied() === 0,
    ...(endpointKvTokens === Infinity ? {} : { endpointKvTokens }),
  };
}
