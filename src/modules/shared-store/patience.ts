import type { Clock, Timer } from '../../common/clock.js';

const TICK_MS = 10;
/** How long anybody waits for an answer: 50 ms. */
const TICKS = 5;
/** And no longer than this, however short of time the machine is. */
export const LONGEST_WAIT_MS = 500;

/**
 * Waits for an answer, in ticks of our own loop: one that comes late counts as one. Where the machine is short of time
 * it is we who are late, and no reason to give the store up; and what has come meanwhile is read before the wait is over.
 */
export class Patience {
  /** The wait is over without an answer. */
  over = false;
  #timer: Timer | undefined;
  #answered = false;
  readonly #startedAt: number;

  constructor(
    private readonly clock: Clock,
    private readonly onOver: () => void,
  ) {
    this.#startedAt = clock.now();
    this.#wait(TICKS);
  }

  /** An answer has come, in time or not. */
  answered(): void {
    this.#answered = true;
    this.#timer?.cancel();
  }

  #wait(ticks: number): void {
    this.#timer = this.clock.after(TICK_MS, () => setImmediate(() => this.#ticked(ticks - 1)));
  }

  #ticked(left: number): void {
    if (this.#answered) return;
    if (left > 0 && this.clock.now() - this.#startedAt < LONGEST_WAIT_MS) return this.#wait(left);
    this.over = true;
    this.onOver();
  }
}
