import type { EndpointLedger } from './endpoint-ledger.js';

/** What a gateway may have of one endpoint while it does not know what the others have. */
export interface Share {
  /** Places at an endpoint of which a band may see `cap` taken. `ordinal`: which of the endpoints it is. */
  mostPlaces(endpoint: EndpointLedger, cap: number, ordinal: number): number;
  /** Whether it is this gateway's turn to start a prompt there that none other sees. Turns last so many readings. */
  hasTurn(endpoint: EndpointLedger, ordinal: number, readings: number): boolean;
  /** Places over all endpoints. */
  mostOverall(limit: number, endpoints: readonly EndpointLedger[]): number;
}

/**
 * The share of every free place: with each reading of an engine's gauges a gateway may expand by its part of what is
 * free, and the odd places go round. What it gives back it may use again, and its part of the whole is always its own.
 * Where no gauge tells what is free, that part is all there is.
 */
export class ShareRule implements Share {
  constructor(
    private readonly index: number,
    private readonly gateways: number,
  ) {}

  mostPlaces(endpoint: EndpointLedger, cap: number, ordinal: number): number {
    const { atReading } = endpoint;
    if (atReading === undefined) return this.#fixed(cap, ordinal);
    const free = Math.max(0, cap - atReading.occupied);
    return Math.max(Math.floor(cap / this.gateways), atReading.own + this.#part(free, atReading.turn));
  }

  hasTurn({ atReading }: EndpointLedger, ordinal: number, readings: number): boolean {
    if (atReading === undefined) return true;
    return (Math.floor(atReading.turn / readings) + ordinal) % this.gateways === this.index;
  }

  /** Gauges tell of every endpoint how full it is; of the limit over all of them only the fixed part is certain. */
  mostOverall(limit: number, endpoints: readonly EndpointLedger[]): number {
    if (endpoints.some(({ atReading }) => atReading === undefined)) return this.#fixed(limit, 0);
    return limit;
  }

  #fixed(places: number, turn: number): number {
    return Math.max(1, this.#part(places, turn));
  }

  /** `turn` says to whom the odd places go. */
  #part(places: number, turn: number): number {
    const odd = (turn + this.index) % this.gateways < places % this.gateways ? 1 : 0;
    return Math.floor(places / this.gateways) + odd;
  }
}
