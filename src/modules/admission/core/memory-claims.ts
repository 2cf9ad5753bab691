import type { Claim, ClaimStore } from './shared-ledger.js';

interface Held {
  readonly endpoint: string;
  readonly places: number;
  readonly kvTokens: number;
}

/** The places of one pool in the memory of one process, by the rules that `claim-scripts.ts` gives a store elsewhere. */
export class MemoryClaims implements ClaimStore {
  readonly #held = new Map<string, Held>();
  readonly #sums = new Map<string, { places: number; kvTokens: number }>();
  #places = 0;

  claim({ id, lease, endpointPlaces, poolPlaces, endpointKvTokens = Infinity, whenIdle }: Claim): boolean {
    const { endpoint, places, kvTokens } = lease;
    const here = this.#sums.get(endpoint) ?? { places: 0, kvTokens: 0 };
    const idle = whenIdle && here.places === 0;
    if (!idle && (here.places + places > endpointPlaces || here.kvTokens + kvTokens > endpointKvTokens)) return false;
    if (this.#places > 0 && this.#places + places > poolPlaces) return false;
    this.#count({ endpoint, places, kvTokens }, 1);
    this.#held.set(id, { endpoint, places, kvTokens });
    return true;
  }

  release(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    this.#count(held, -1);
  }

  #count({ endpoint, places, kvTokens }: Held, sign: 1 | -1): void {
    const before = this.#sums.get(endpoint) ?? { places: 0, kvTokens: 0 };
    const after = { places: before.places + sign * places, kvTokens: before.kvTokens + sign * kvTokens };
    // Endpoints come and go.
    if (after.places <= 0) this.#sums.delete(endpoint);
    else this.#sums.set(endpoint, after);
    this.#places += sign * places;
  }
}
