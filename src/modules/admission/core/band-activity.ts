import type { Waiter } from './waiter.js';
import type { WorkClass } from './pool-types.js';

const TOP_BAND_AROUND_MS = 300_000;
const STARVED_MS = 30_000;

/** When each band last got something, and what it has running. */
export class BandActivity {
  lastLongAt = -Infinity;
  readonly #running: number[];
  readonly #lastGrantAt: number[];
  #lastTopBandAt = -Infinity;

  constructor(bands: number, now: number) {
    this.#running = Array.from({ length: bands }, () => 0);
    this.#lastGrantAt = Array.from({ length: bands }, () => now);
  }

  asked(band: number, now: number): void {
    if (band === 0) this.#lastTopBandAt = now;
  }

  granted(band: number, kind: WorkClass, now: number): void {
    this.#running[band] = (this.#running[band] ?? 0) + 1;
    this.#lastGrantAt[band] = now;
    if (kind === 'long') this.lastLongAt = now;
  }

  /** Another gateway has told when it last granted something. */
  heardGrant(band: number, at: number): void {
    this.#lastGrantAt[band] = Math.max(this.#lastGrantAt[band] ?? -Infinity, at);
  }

  heardTopBand(at: number): void {
    this.#lastTopBandAt = Math.max(this.#lastTopBandAt, at);
  }

  heardLong(at: number): void {
    this.lastLongAt = Math.max(this.lastLongAt, at);
  }

  /** Ages of what others are told: undefined: never. */
  topBandAgoMs(now: number): number | undefined {
    return agoMs(this.#lastTopBandAt, now);
  }

  longAgoMs(now: number): number | undefined {
    return agoMs(this.lastLongAt, now);
  }

  released(band: number): void {
    this.#running[band] = (this.#running[band] ?? 1) - 1;
  }

  /** The highest band was asked for within the last minutes. */
  topBandAround(now: number): boolean {
    return now - this.#lastTopBandAt < TOP_BAND_AROUND_MS;
  }

  /** No grant for half a minute, nothing in flight, and the head past half its time. */
  isStarved(band: number, head: Waiter | undefined, now: number): boolean {
    if ((this.#running[band] ?? 0) > 0 || now - (this.#lastGrantAt[band] ?? now) < STARVED_MS) return false;
    return head !== undefined && now - head.since > (head.deadline - head.since) / 2;
  }
}

const agoMs = (at: number, now: number): number | undefined => (at === -Infinity ? undefined : now - at);
