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

/**
 * The places of one pool, counted in a store that all gateways share. While that is out every claim passes at once, and
 * the gateway keeps to what it knows of the others by other means. Owns a timer only while it holds a place.
 */
export class SharedClaims implements ClaimStore {
  readonly #key: string;
  readonly #held = new Map<string, Claim>();
  #renewal: Timer | undefined;

  constructor(
    private readonly store: SharedStore,
    pool: string,
    private readonly clock: Clock,
  ) {
    this.#key = `llmgw:slots:{${pool}}`;
    // Before anything else is claimed: calls keep their order.
    store.onTurn(() => {
      if (store.up) this.#renew();
    });
  }

  claim(claim: Claim): boolean | Promise<boolean> {
    this.#hold(claim);
    if (!this.store.up) return true;
    return this.#ask(claim);
  }

  release(id: string): void {
    if (this.#forget(id)) this.store.post(RELEASE_SCRIPT, this.#key, [id]);
  }

  #forget(id: string): boolean {
    const held = this.#held.delete(id);
    if (this.#held.size === 0) {
      this.#renewal?.cancel();
      this.#renewal = undefined;
    }
    return held;
  }

  async #ask(claim: Claim): Promise<boolean> {
    const { id, lease, endpointPlaces, poolPlaces, endpointKvTokens = -1, whenIdle } = claim;
    const limits = [endpointPlaces, poolPlaces, endpointKvTokens, whenIdle ? 1 : 0];
    const args = [LEASE_MS, id, lease.endpoint, lease.places, lease.kvTokens, ...limits, this.store.deadlineMs];
    // No answer: the place is taken on what this gateway knows itself. Should the store have taken it too, the release
    // that comes later is the same; should it not have, the next renewal brings it there.
    const reply = await this.store.run(CLAIM_SCRIPT, this.#key, args, () => undefined);
    if (reply !== 0) return true;
    this.#forget(id);
    return false;
  }

  #hold(claim: Claim): void {
    this.#held.set(claim.id, claim);
    this.#renewal ??= this.clock.after(RENEW_EVERY_MS, () => this.#renewLater());
  }

  #renewLater(): void {
    this.#renewal = this.clock.after(RENEW_EVERY_MS, () => this.#renewLater());
    if (this.store.up) this.#renew();
  }

  #renew(): void {
    const claims = [...this.#held.values()];
    for (let from = 0; from < claims.length; from += BATCH) {
      const batch = claims.slice(from, from + BATCH);
      const args = batch.flatMap(({ id, lease }) => [id, lease.endpoint, lease.places, lease.kvTokens]);
      this.store.post(RENEW_SCRIPT, this.#key, [LEASE_MS, ...args]);
    }
  }
}
