import { Deadlines } from './deadlines.js';
import { FlowQueue } from './flow-queue.js';
import type { Waiter } from './waiter.js';

/** Everybody who waits for a place in one pool: by band, and by when they must not wait longer. */
export class WaitingRoom {
  /** Highest first. */
  readonly bands: readonly FlowQueue<Waiter>[];
  readonly #deadlines = new Deadlines<Waiter>();

  constructor(bands: number) {
    this.bands = Array.from({ length: bands }, () => new FlowQueue<Waiter>());
  }

  get isEmpty(): boolean {
    return this.#deadlines.size === 0;
  }

  get longWaits(): boolean {
    return this.bands.some((band) => band.has('long'));
  }

  /** `front`: it stands where it stood before, ahead of all that came after it. */
  enter(waiter: Waiter, front: boolean): void {
    this.bands[waiter.band]?.add(waiter, front);
    this.#deadlines.add(waiter);
  }

  /** false: it did not wait any more. */
  leave(waiter: Waiter): boolean {
    if (!waiter.waits) return false;
    this.bands[waiter.band]?.remove(waiter);
    this.#deadlines.left(waiter);
    return true;
  }

  /** Those who have waited too long. */
  due(now: number): readonly Waiter[] {
    return this.#deadlines.due(now);
  }

  /** A copy. */
  all(): readonly Waiter[] {
    return this.bands.flatMap((band) => [...band.all()]);
  }

  /** Whose turn it may be, in every band. */
  heads(): readonly Waiter[] {
    return this.bands.flatMap((band) => band.candidates());
  }
}
