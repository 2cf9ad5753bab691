import type { Clock, Timer } from '../../../common/clock.js';

/** Calls back at an interval, while it is wanted: a calm pool owns no timer. */
export class Ticker {
  #timer: Timer | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly everyMs: number,
    private readonly tick: () => void,
  ) {}

  /** Ticks until it is stopped. Starting it twice changes nothing. */
  start(): void {
    this.#timer ??= this.clock.after(this.everyMs, () => {
      this.#timer = undefined;
      // Before the tick, which may stop it.
      this.start();
      this.tick();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
