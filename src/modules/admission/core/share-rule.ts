import type { AtReading } from './at-reading.js';
import type { EndpointLedger } from './endpoint-ledger.js';

/** Where and for whom a place is wanted. */
export interface WantedPlace {
  /** Places that its band may see taken there. */
  readonly cap: number;
  readonly band: number;
  /** Which of the endpoints it is. */
  readonly ordinal: number;
}

/** What a gateway may have of one endpoint while it does not know for certain what the others have. */
export interface Share {
  /** Others tell what they have, if not at every moment. */
  readonly told: boolean;
  /** Places at an endpoint. */
  mostPlaces(endpoint: EndpointLedger, wanted: WantedPlace): number;
  /** Those of them that it may have whatever an engine's gauges show: others might hold the rest for ever. */
  guaranteed(cap: number): number;
  /** Whether it is this gateway's turn to start a prompt there that none other sees. Turns last so many readings. */
  hasTurn(endpoint: EndpointLedger, ordinal: number, readings: number): boolean;
  /** Places of this gateway over all endpoints. */
  mostOverall(limit: number, band: number, endpoints: readonly EndpointLedger[]): number;
}

/** Which gateway this is of those that share, from 0. */
export interface Sharer {
  readonly index: number;
  readonly count: number;
}

/** Of so many places those of one gateway; `turn` says to whom the odd ones go. */
export function partOf(places: number, turn: number, { index, count }: Sharer): number {
  const odd = (turn + index) % count < places % count ? 1 : 0;
  return Math.floor(places / count) + odd;
}

/** What it had when that was last known of all, and its part of what was free then. */
export const grownFrom = ({ own, occupied, turn }: AtReading, most: number, sharer: Sharer): number =>
  own + partOf(Math.max(0, most - occupied), turn, sharer);

/** Its part whatever the others do: one place at least, or it could never serve anybody. */
export const fixedPart = (places: number, turn: number, sharer: Sharer): number =>
  Math.max(1, partOf(places, turn, sharer));

/**
 * The share of every free place: with each reading of an engine's gauges a gateway may expand by its part of what is
 * free, and the odd places go round. What it gives back it may use again, and its part of the whole is always its own.
 * Where no gauge tells what is free, that part is all there is.
 */
export class ShareRule implements Share {
  readonly told = false;

  constructor(private readonly sharer: () => Sharer) {}

  mostPlaces({ atReading }: EndpointLedger, { cap, ordinal }: WantedPlace): number {
    const sharer = this.sharer();
    if (atReading === undefined) return fixedPart(cap, ordinal, sharer);
    return Math.max(Math.floor(cap / sharer.count), grownFrom(atReading, cap, sharer));
  }

  guaranteed(cap: number): number {
    return Math.floor(cap / this.sharer().count);
  }

  hasTurn({ atReading }: EndpointLedger, ordinal: number, readings: number): boolean {
    if (atReading === undefined) return true;
    const { index, count } = this.sharer();
    return (Math.floor(atReading.turn / readings) + ordinal) % count === index;
  }

  /** Gauges tell of every endpoint how full it is; of the limit over all of them only the fixed part is certain. */
  mostOverall(limit: number, _band: number, endpoints: readonly EndpointLedger[]): number {
    if (endpoints.some(({ atReading }) => atReading === undefined)) return fixedPart(limit, 0, this.sharer());
    return limit;
  }
}
