import type { EndpointLedger } from './endpoint-ledger.js';
import { fixedPart, type Share, type Sharer, type WantedPlace } from './share-rule.js';

/**
 * What a gateway may have in the first moment after the store that counted has gone for it: what it had. The store still
 * counts that for it, if it counts for others. More only where so much seems free that whatever others were granted in
 * the very last moment, and nobody has told, fits there too.
 */
export class LostStoreShare implements Share {
  readonly told = false;
  #hadOverall = 0;

  constructor(private readonly sharer: () => Sharer) {}

  /** The store has gone. */
  noteLoss(endpoints: readonly EndpointLedger[]): void {
    this.#hadOverall = 0;
    for (const endpoint of endpoints) {
      endpoint.ownAtLoss = endpoint.ownPlaces;
      this.#hadOverall += endpoint.ownPlaces;
    }
  }

  mostPlaces({ places, ownAtLoss }: EndpointLedger, { cap, ordinal }: WantedPlace): number {
    const sharer = this.sharer();
    return places + sharer.count <= cap ? Math.max(ownAtLoss, fixedPart(cap, ordinal, sharer)) : ownAtLoss;
  }

  guaranteed(): number {
    return 0;
  }

  hasTurn(): boolean {
    return true;
  }

  mostOverall(limit: number): number {
    return Math.max(this.#hadOverall, fixedPart(limit, 0, this.sharer()));
  }
}
