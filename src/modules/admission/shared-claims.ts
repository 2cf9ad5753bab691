import type { Clock, Timer } from '../../common/clock.js';
import type { SharedStore, StoreScript } from '../shared-store/shared-store.js';
import { CLAIM, RELEASE, RENEW } from './core/claim-scripts.js';
import type { Claim, ClaimStore } from './core/shared-ledger.js';

/** A gateway that is killed gives its places back after this; one that runs renews them three times as often. */
const LEASE_MS = 15_000;
const RENEW_EVERY_MS = 5_000;
/** Leases of one renewal: a script may take only so many arguments. */
const BATCH = 500;

const CLAIM_SCRIPT: StoreScript = { name: 'llmgwSlotClaim', source: CLAIM };
const RELEASE_SCRIPT: StoreScript = { name: 'llmgwSlotRelease', source: RELEASE };
const RENEW_SCRIPT: StoreScript = { name: 'llmgwSlotRenew', source: RENEW };

/** An answer that took so long is of no use: this process has stood still, and the lease may be over any moment. */
const OLD_ANSWER_MS = 5_000;

interface Held {
  readonly claim: Claim;
  /** The store has been asked for it: whatever it answered, it may count it. */
  asked: boolean;
}

/**
 * The places of one pool, counted in a store that all gateways share. While that is out every claim passes at once, and
 * the gateway keeps to what it knows of the others by other means; what it gives back meanwhile stays its own in the
 * store until that is back, for it may still count for others. Owns a timer only while it holds a place.
 */
export class SharedClaims implements ClaimStore {
  readonly #key: string;
  readonly #held = new Map<string, Held>();
  /** Given back while the store was out. */
  #parked: string[] = [];
  #renewal: Timer | undefined;

  constructor(
    private readonly store: SharedStore,
    pool: string,
    private readonly clock: Clock,
  ) {
    this.#key = `llmgw:slots:{${pool}}`;
    store.onConnection(() => this.#renew());
    store.onTurn(() => {
      if (store.up) this.#comeBack();
    });
  }

  claim(claim: Claim): boolean | Promise<boolean> {
    this.#hold(claim);
    if (!this.store.up) return true;
    return this.#ask(claim);
  }

  release(id: string): void {
    const held = this.#forget(id);
    if (held?.asked !== true) return;
    if (this.store.up) this.#giveBack(id);
    else this.#parked.push(id);
  }

  #giveBack(id: string): void {
    this.store.post(RELEASE_SCRIPT, this.#key, [id], () => this.#parked.push(id));
  }

  #forget(id: string): Held | undefined {
    const held = this.#held.get(id);
    this.#held.delete(id);
    if (this.#held.size === 0) {
      this.#renewal?.cancel();
      this.#renewal = undefined;
    }
    return held;
  }

  /** What runs is told before what does not run any more, and both before anything is claimed: calls keep their order. */
  #comeBack(): void {
    this.#renew();
    const parked = this.#parked;
    this.#parked = [];
    for (const id of parked) this.#giveBack(id);
  }

  async #ask(claim: Claim): Promise<boolean> {
    const { id, lease, endpointPlaces, poolPlaces, endpointKvTokens = -1, whenIdle } = claim;
    const limits = [endpointPlaces, poolPlaces, endpointKvTokens, whenIdle ? 1 : 0];
    const args = [LEASE_MS, id, lease.endpoint, lease.places, lease.kvTokens, ...limits, this.store.deadlineMs];
    const askedAt = this.clock.now();
    const reply = await this.store.run(CLAIM_SCRIPT, this.#key, args, () => undefined);
    if (reply === 1 && this.clock.now() - askedAt < OLD_ANSWER_MS) return true;
    // Where there is no answer, or an old one, it may have been taken all the same.
    if (reply === 0) this.#forget(id);
    else this.release(id);
    return false;
  }

  #hold(claim: Claim): void {
    this.#held.set(claim.id, { claim, asked: this.store.up });
    this.#renewal ??= this.clock.after(RENEW_EVERY_MS, () => this.#renewLater());
  }

  #renewLater(): void {
    this.#renewal = this.clock.after(RENEW_EVERY_MS, () => this.#renewLater());
    if (this.store.up) this.#renew();
  }

  #renew(): void {
    const all = [...this.#held.values()];
    for (const held of all) held.asked = true;
    for (let from = 0; from < all.length; from += BATCH) {
      const batch = all.slice(from, from + BATCH);
      const args = batch.flatMap(({ claim: { id, lease } }) => [id, lease.endpoint, lease.places, lease.kvTokens]);
      this.store.post(RENEW_SCRIPT, this.#key, [LEASE_MS, ...args]);
    }
  }
}
