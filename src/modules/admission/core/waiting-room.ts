import { Deadlines } from './deadlines.js';
import { FlowQueue } from './flow-queue.js';
import type { Refusal } from './pool-types.js';
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

  /** The highest band in which somebody waits; Infinity: nobody does. */
  get highest(): number {
    const highest = this.bands.findIndex(({ size }) => size > 0);
    return highest < 0 ? Infinity : highest;
  }

  get longWaits(): boolean {
    return this.bands.some((band) => band.has('long'));
  }

  /** `front`: it stands where it stood before, ahead of all that came after it. */
  enter(waiter: Waiter, front: boolean): void {
    const band = this.bands[waiter.band];
    band?.add(waiter, front);
    this.#deadlines.add(waiter);
    waiter.listener.queued?.((band?.size ?? 1) - 1);
  }

  /** false: it did not wait any more. */
  leave(waiter: Waiter): boolean {
    if (!waiter.waits) return false;
    this.bands[waiter.band]?.remove(waiter);
    this.#deadlines.left(waiter);
    return true;
  }

  /**
   * Whose wait is over, and by what. `maxParkMs`: for how long the gauges alone may hold a head; undefined: there are
   * none. `claiming`: those who stand in no line, since a place is being asked for them.
   */
  over(now: number, maxParkMs: number | undefined, claiming: readonly Waiter[]): (readonly [Waiter, Refusal])[] {
    const late = [...this.#deadlines.due(now), ...claiming.filter(({ deadline }) => deadline <= now)];
    const saturated = maxParkMs === undefined ? [] : this.heads().filter((head) => head.isSaturated(now, maxParkMs));
    return [
      ...late.map((waiter) => [waiter, 'queue-timeout'] as const),
      ...saturated.filter(({ deadline }) => deadline > now).map((waiter) => [waiter, 'engine-saturated'] as const),
    ];
  }

  /** A copy. */
  all(): readonly Waiter[] {
    return this.bands.flatMap((band) => [...band.all()]);
  }

  /** Whose turn it may be, band after band; `first` stands before the others of its band. */
  *turns(first: Waiter | undefined): Generator<Waiter> {
    for (const [index, band] of this.bands.entries()) {
      if (band.size === 0) continue;
      if (first?.band === index) yield first;
      yield* band.candidates();
    }
  }

  /** Whose turn it may be, in every band. */
  heads(): readonly Waiter[] {
    return this.bands.flatMap((band) => band.candidates());
  }
}
