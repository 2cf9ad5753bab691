import type { AmongGateways } from './among-gateways.js';
import type { BandActivity } from './band-activity.js';
import type { EndpointLedger } from './endpoint-ledger.js';
import { entryOf, type Holding, type Service } from './held-lease.js';
import type { DrainRate } from './retry-after.js';
import type { Share } from './share-rule.js';
import { TenantTotals } from './tenant-totals.js';
import { virtualCost } from './virtual-cost.js';
import type { Waiter } from './waiter.js';
import type { WaitingRoom } from './waiting-room.js';

/** What the book is kept with. */
export interface BookTerms {
  readonly room: WaitingRoom;
  readonly activity: BandActivity;
  readonly drain: DrainRate;
  /** undefined: there is no other gateway. */
  readonly among: AmongGateways | undefined;
}

/** Who has which places of one pool, and what service their tenants have had for it. */
export class PlaceBook {
  /** Places of this gateway. */
  inUse = 0;
  /** By band: service received, in tokens. */
  readonly received: readonly TenantTotals[];

  constructor(private readonly terms: BookTerms) {
    this.received = terms.room.bands.map(() => new TenantTotals());
  }

  /** Over all gateways, as far as it is known. */
  overall(endpoints: readonly EndpointLedger[], share: Share | undefined): number {
    if (this.terms.among === undefined) return this.inUse;
    const told = share === undefined || share.told;
    let places = this.inUse;
    for (const one of endpoints) places += (told ? one.places : one.occupied()) - one.ownPlaces;
    return places;
  }

  /** From the decision on the place is counted, and its tenant charged. */
  take(waiter: Waiter, ledger: EndpointLedger, kvTokens: number, now: number, claimId?: string): Holding {
    const { request, tenant, band } = waiter;
    const entry = entryOf(waiter, kvTokens, now);
    ledger.grant(entry);
    this.inUse += entry.places;
    const charged = virtualCost(request.promptTokens, request.outputTokens * request.places);
    this.terms.room.bands[band]?.serve(tenant, charged);
    this.terms.among?.charge(band, tenant, charged);
    return claimId === undefined ? { waiter, ledger, entry, charged } : { waiter, ledger, entry, charged, claimId };
  }

  /** As if it had not been decided. */
  takeBack({ waiter, ledger, entry, charged }: Holding): void {
    ledger.withdraw(entry);
    this.inUse -= entry.places;
    this.#charge(waiter, -charged);
  }

  release({ waiter, ledger, entry }: Holding, { tokens, adjustment }: Service, now: number): void {
    ledger.release(entry, now);
    this.inUse -= entry.places;
    this.terms.activity.released(entry.band);
    this.terms.drain.note(now, now - entry.grantedAt, !this.terms.room.isEmpty);
    this.received[entry.band]?.add(waiter.request.tenant, tokens);
    if (adjustment !== 0) this.#charge(waiter, adjustment);
  }

  #charge({ band, tenant }: Waiter, amount: number): void {
    this.terms.room.bands[band]?.charge(tenant, amount);
    this.terms.among?.charge(band, tenant, amount);
  }
}
