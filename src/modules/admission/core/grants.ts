import type { AmongGateways } from './among-gateways.js';
import type { EndpointLedger } from './endpoint-ledger.js';
import { entryOf, type Holding } from './held-lease.js';
import type { PoolPolicy } from './pool-types.js';
import type { Reservation } from './reservation.js';
import { virtualCost } from './virtual-cost.js';
import type { Waiter } from './waiter.js';
import type { WaitingRoom } from './waiting-room.js';

/** Where a request is to run, since when, and what the store knows it by. */
export interface Place {
  readonly endpoint: EndpointLedger;
  readonly kvTokens: number;
  readonly now: number;
  readonly claimId: string | undefined;
}

/** What the limit over all endpoints is held against. */
export interface LimitParts {
  readonly policy: PoolPolicy;
  readonly endpoints: { readonly ordered: readonly EndpointLedger[] };
  readonly reservation: Reservation;
}

/** What this gateway has granted: places in the ledgers, service on the accounts of tenants. */
export class Grants {
  /** Places of this gateway. */
  inUse = 0;

  constructor(
    private readonly room: WaitingRoom,
    private readonly among: AmongGateways | undefined,
  ) {}

  /** From the decision on the place is counted, and its tenant charged. */
  take(waiter: Waiter, { endpoint, kvTokens, now, claimId }: Place): Holding {
    const { request, tenant, band } = waiter;
    const entry = entryOf(waiter, kvTokens, now);
    endpoint.grant(entry);
    this.inUse += entry.places;
    const charged = virtualCost(request.promptTokens, request.outputTokens * request.places);
    this.room.bands[band]?.serve(tenant, charged);
    this.among?.charge(band, tenant, charged);
    const holding = { waiter, ledger: endpoint, entry, charged };
    return claimId === undefined ? holding : { ...holding, claimId };
  }

  /** As if it had not been decided. */
  takeBack({ waiter, ledger, entry, charged }: Holding): void {
    ledger.withdraw(entry);
    this.inUse -= entry.places;
    this.#charge(waiter, -charged);
  }

  release({ waiter, ledger, entry }: Holding, adjustment: number, now: number): void {
    ledger.release(entry, now);
    this.inUse -= entry.places;
    if (adjustment !== 0) this.#charge(waiter, adjustment);
  }

  /** Whether there is room for it over all endpoints. What has more places than the limit may have a pool of its own. */
  isBelowLimit(waiter: Waiter, { policy, endpoints, reservation }: LimitParts): boolean {
    const inUse = this.#placesTaken(endpoints.ordered);
    if (inUse === 0) return true;
    const limit = this.among?.share?.mostOverall(policy.limit, endpoints.ordered) ?? policy.limit;
    return inUse + waiter.request.places + reservation.placesKeptFrom(waiter) <= limit;
  }

  /** Places over all gateways, as far as it is known. */
  #placesTaken(endpoints: readonly EndpointLedger[]): number {
    if (this.among === undefined) return this.inUse;
    const told = this.among.share === undefined;
    let places = this.inUse;
    for (const one of endpoints) places += (told ? one.places : one.occupied()) - one.ownPlaces;
    return places;
  }

  #charge({ band, tenant }: Waiter, amount: number): void {
    this.room.bands[band]?.charge(tenant, amount);
    this.among?.charge(band, tenant, amount);
  }
}
