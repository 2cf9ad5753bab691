import type { ReadingTerms } from './endpoint-ledger.js';
import { OwnLedger } from './own-ledger.js';
import { PeerLedgers, type MergeInto } from './peer-ledgers.js';
import { PeerOrder } from './peer-order.js';
import type { SharedLedger } from './shared-ledger.js';
import type { GaugeReading } from './pool-types.js';
import { ShareRule, type Share } from './share-rule.js';
import type { PoolSharing } from './sharing.js';
import type { Waiter } from './waiter.js';

/** One pool's side of what it does together with those of other gateways. */
export class AmongGateways {
  readonly peers: PeerLedgers;
  readonly #order: PeerOrder;
  readonly #own: OwnLedger;
  readonly #rule: Share;

  constructor(
    readonly sharing: PoolSharing,
    private readonly pool: MergeInto,
  ) {
    const { epoch, index, gateways } = sharing;
    this.peers = new PeerLedgers(pool);
    this.#order = new PeerOrder(this.peers, pool.bands, () => sharing.live());
    this.#own = new OwnLedger(epoch, pool.bands.length);
    this.#rule = new ShareRule(index, gateways);
  }

  /** What this gateway has to keep to; undefined: it knows what all others have. */
  get share(): Share | undefined {
    const { gateways } = this.sharing;
    return gateways > 1 && this.peers.count < gateways - 1 && !this.sharing.live() ? this.#rule : undefined;
  }

  yields(waiter: Waiter, now: number): boolean {
    return this.#order.yields(waiter, now);
  }

  charge(band: number, tenant: string, amount: number): void {
    this.#own.charge(band, tenant, amount);
  }

  /** What is known beside a reading. */
  termsOf({ takenAtMs }: GaugeReading, now: number): ReadingTerms {
    const { sharing } = this;
    const turn = Math.floor((sharing.wallTime() - (now - takenAtMs)) / sharing.readEveryMs);
    return { turn, live: sharing.live(), untold: this.share !== undefined };
  }

  tell(now: number): SharedLedger {
    const { endpoints, bands, activity } = this.pool;
    return this.#own.tell(endpoints.values(), bands, activity, now);
  }
}
