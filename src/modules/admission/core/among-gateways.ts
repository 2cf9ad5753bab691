import type { ReadingTerms } from './at-reading.js';
import type { LeaseEntry } from './endpoint-ledger.js';
import { LostStoreShare } from './lost-store-share.js';
import { OwnLedger } from './own-ledger.js';
import { PeerLedgers, type MergeInto } from './peer-ledgers.js';
import { PeerOrder } from './peer-order.js';
import type { GaugeReading } from './pool-types.js';
import type { KeptClear } from './reservation.js';
import { ShareRule, type Share, type Sharer } from './share-rule.js';
import type { SharedLedger } from './shared-ledger.js';
import type { PoolSharing } from './sharing.js';
import { ToldShare } from './told-share.js';
import type { Waiter } from './waiter.js';

/** How often gateways ask each other. */
const TOLD_EVERY_MS = 1000;
/** After the store has gone, so long a gateway keeps to what it had: mostly it is back before that. */
const KEEPS_MS = 2500;
const NONE: ReadonlySet<LeaseEntry> = new Set();

/** One pool's side of what it does together with those of other gateways. */
export class AmongGateways {
  readonly peers: PeerLedgers;
  readonly #order: PeerOrder;
  readonly #own: OwnLedger;
  readonly #rule: Share;
  readonly #told: ToldShare;
  readonly #lost: LostStoreShare;
  #wasLive: boolean;
  #lostAt = -Infinity;
  /** Which gateway this is: as configured, or once all have been heard of as they are told apart for certain. */
  #sharer: Sharer;

  constructor(
    readonly sharing: PoolSharing,
    private readonly pool: MergeInto,
  ) {
    const { epoch, index, gateways } = sharing;
    this.peers = new PeerLedgers(pool);
    this.#order = new PeerOrder(this.peers, pool.bands, () => sharing.live());
    this.#own = new OwnLedger(epoch, pool.bands.length);
    this.#sharer = { index, count: gateways };
    const sharer = (): Sharer => this.#sharer;
    this.#rule = new ShareRule(sharer);
    this.#lost = new LostStoreShare(sharer);
    this.#told = new ToldShare(epoch, this.peers, gateways);
    this.#wasLive = sharing.live();
  }

  /** What this gateway has to keep to; undefined: it knows what all others have. */
  shareAt(now: number): Share | undefined {
    const { sharing } = this;
    if (sharing.gateways === 1 || sharing.live()) return undefined;
    if (now - this.#lostAt < KEEPS_MS) return this.#lost;
    return sharing.told() ? this.#told : this.#rule;
  }

  /** What another gateway tells; undefined: it has fallen silent. */
  hear(peer: string, ledger: SharedLedger | undefined, now: number): void {
    this.peers.hear(peer, ledger, now);
    const { epoch, gateways } = this.sharing;
    const others = this.peers.told();
    if (others.length !== gateways - 1) return;
    this.#sharer = { index: others.filter((other) => other < epoch).length, count: gateways };
  }

  /**
   * All others have told what they have, one after the other: upon that `grant` lets in whom it can. `wanted`: the
   * highest band that waits.
   */
  afterNews(wanted: number, grant: () => void): void {
    const endpoints = [...this.pool.endpoints.current.values()];
    this.#told.noteNews(endpoints, turnAt(this.sharing.wallTime(), TOLD_EVERY_MS), wanted);
    grant();
    this.#told.settle(endpoints);
  }

  /** Whether the store counts may have changed. If it does so no more, what it has been asked is given up first. */
  turned(now: number, giveUp: () => void): void {
    const live = this.sharing.live();
    const lost = this.#wasLive && !live;
    this.#wasLive = live;
    if (!lost) return;
    this.#lostAt = now;
    giveUp();
    this.#lost.noteLoss([...this.pool.endpoints.current.values()]);
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
    const turn = turnAt(sharing.wallTime() - (now - takenAtMs), sharing.readEveryMs);
    const untold = this.shareAt(now)?.told === false;
    return { turn, live: !untold, untold };
  }

  /** `claimed`: leases that the store has still to confirm. */
  tell(now: number, kept: KeptClear | undefined, claimed: ReadonlySet<LeaseEntry> = NONE): SharedLedger {
    const { endpoints, bands, activity } = this.pool;
    return this.#own.tell({ endpoints: endpoints.all(), bands, activity, kept, claimed }, now);
  }
}

/** The number of a reading: all gateways count alike. */
const turnAt = (wallTime: number, everyMs: number): number => Math.floor(wallTime / everyMs);
