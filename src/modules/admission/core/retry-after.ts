const LONGEST_SECONDS = 60;
const JITTER = 0.2;
/** Weight of the newest interval between two releases. */
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

/** How fast places come free, as a moving average of the time between two. */
export class DrainRate {
  #lastAt: number | undefined;
  #intervalMs: number | undefined;

  note(now: number): void {
    if (this.#lastAt !== undefined) {
      const interval = now - this.#lastAt;
      this.#intervalMs =
        this.#intervalMs === undefined ? interval : this.#intervalMs + LEARN * (interval - this.#intervalMs);
    }
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
    if (this.#intervalMs === undefined || this.#lastAt === undefined) return 0;
    return count * Math.max(this.#intervalMs, count > 0 ? Math.min(now - this.#lastAt, this.#intervalMs * 4) : 0);
  }
}
