import { grownBy, type AtReading } from './at-reading.js';
import type { EndpointLedger } from './endpoint-ledger.js';
import type { PeerLedgers } from './peer-ledgers.js';
import { fixedPart, type Share, type Sharer, type WantedPlace } from './share-rule.js';

/** What of the pool the last news are reckoned from: who shares what was free then. */
interface News extends AtReading {
  /** Anybody may have found the pool so, and have wanted the same places a moment later. */
  readonly all: Sharer;
  /** By band, while the news are fresh: only those that had something waiting, of that band or above. */
  readonly wanting: readonly (Sharer | undefined)[];
}

const SETTLED: News['wanting'] = [];

/**
 * The share of every free place among gateways that tell each other once in a while what they have. Everyone knows the
 * pool as it was then, and all would take the same places: so what was free is shared out, as it is without ledgers.
 * Whoever had nothing waiting leaves its part to the others, as long as they take it before anything else happens: that
 * holds for all that the pool can grant at once upon the news, and for nothing that comes later.
 */
export class ToldShare implements Share {
  readonly told = true;
  #news: News | undefined;

  constructor(
    private readonly epoch: string,
    private readonly peers: PeerLedgers,
    private readonly gateways: number,
  ) {}

  /** All others have told what they have. `wanted`: the highest band that waits here; Infinity: nobody does. */
  noteNews(endpoints: readonly EndpointLedger[], turn: number, wanted: number): void {
    for (const endpoint of endpoints) endpoint.noteNews(turn);
    const occupied = endpoints.reduce((sum, one) => sum + one.occupied(), 0);
    const wanting = this.peers
      .wanting()
      .map((others, band) => (wanted <= band ? { ...this.#among(others), count: others.length + 1 } : undefined));
    this.#news = { own: ownPlacesOf(endpoints), occupied, turn, all: this.#among(this.peers.told()), wanting };
  }

  /** What could be granted upon the news has been granted: it counts as if it had been held before. */
  settle(endpoints: readonly EndpointLedger[]): void {
    if (this.#news === undefined) return;
    for (const endpoint of endpoints) endpoint.settleNews();
    const grown = grownBy(this.#news, ownPlacesOf(endpoints) - this.#news.own);
    this.#news = { ...this.#news, ...grown, wanting: SETTLED };
  }

  mostPlaces({ atNews }: EndpointLedger, { cap, band, ordinal }: WantedPlace): number {
    const sharer = this.#sharerOf(band);
    return atNews === undefined ? fixedPart(cap, ordinal, sharer) : mostGrown(atNews, cap, sharer);
  }

  guaranteed(): number {
    return 0;
  }

  hasTurn(): boolean {
    return true;
  }

  mostOverall(limit: number, band: number): number {
    const sharer = this.#sharerOf(band);
    return this.#news === undefined ? fixedPart(limit, 0, sharer) : mostGrown(this.#news, limit, sharer);
  }

  #sharerOf(band: number): Sharer {
    return this.#news?.wanting[band] ?? this.#news?.all ?? this.#among(this.peers.told());
  }

  #among(others: readonly string[]): Sharer {
    return {
      index: others.filter((other) => other < this.epoch).length,
      count: Math.max(this.gateways, others.length + 1),
    };
  }
}

const ownPlacesOf = (endpoints: readonly EndpointLedger[]): number =>
  endpoints.reduce((sum, { ownPlaces }) => sum + ownPlaces, 0);

const mostGrown = ({ own, occupied }: AtReading, most: number, { count }: Sharer): number =>
  own + Math.ceil(Math.max(0, most - occupied) / count);
