const LONGEST_SECONDS = 60;
const JITTER = 0.2;
/** Weight of the newest sample. */
const LEARN = 0.1;

/** When to come back, in whole seconds, for so much work ahead: spread a little, so that not all come back at once. */
export function retryAfterSeconds(workMs: number, leastMs: number, random: number): number {
  const seconds = Math.round((workMs / 1000) * (1 + JITTER * random));
  return Math.min(LONGEST_SECONDS, Math.max(Math.ceil(leastMs / 1000), seconds));
}

/** What waits in one queue. */
export interface QueuedWork {
  readonly size: number;
  readonly estimateMs: number;
}

/**
 * How fast places come free: by the time between two that did while somebody waited, and until that has been seen, by how
 * long places are held.
 */
export class DrainRate {
  #lastAt = 0;
  /** Somebody waited then: until the next one comes free all are in use. */
  #wasWanted = false;
  #intervalMs: number | undefined;
  #heldMs: number | undefined;

  constructor(private readonly places: number) {}

  /** A place has come free that was held for so long. */
  note(now: number, heldMs: number, wanted: boolean): void {
    if (this.#wasWanted)
      this.#intervalMs = learned(this.#intervalMs, Math.min(now - this.#lastAt, LONGEST_SECONDS * 1000));
    this.#heldMs = learned(this.#heldMs, heldMs);
    this.#wasWanted = wanted;
    this.#lastAt = now;
  }

  /** Milliseconds until the work in these queues will be done: by its prefill, and by how fast places come free. */
  msAhead(queues: readonly QueuedWork[], endpoints: number, now: number): number {
    const estimateMs = queues.reduce((sum, queue) => sum + queue.estimateMs, 0);
    const count = queues.reduce((sum, { size }) => sum + size, 0);
    return Math.max(estimateMs / Math.max(1, endpoints), this.msFor(count, now));
  }

  /** Milliseconds until so many places will have come free; 0 where none ever has. */
  msFor(count: number, now: number): number {
    const intervalMs = this.#intervalMs ?? (this.#heldMs ?? 0) / this.places;
    // The next one is overdue: it may be that all of them take longer now.
    const overdueMs = this.#wasWanted ? Math.min(now - this.#lastAt, intervalMs * 4) : 0;
    return count * Math.max(intervalMs, overdueMs);
  }
}

const learned = (average: number | undefined, sample: number): number =>
  average === undefined ? sample : average + LEARN * (sample - average);
