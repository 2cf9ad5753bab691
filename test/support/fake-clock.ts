import type { Clock, Timer } from '../../src/common/clock.js';

/** A clock that moves only when a test moves it. Timers fire in the order of their times. */
export class FakeClock implements Clock {
  #nowMs = 0;
  #pending: { readonly at: number; readonly callback: () => void }[] = [];

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const entry = { at: this.#nowMs + delayMs, callback };
    this.#pending.push(entry);
    return {
      cancel: () => {
        this.#pending = this.#pending.filter((other) => other !== entry);
      },
    };
  }

  /** Lets so much time pass; what falls due is called at its own moment. */
  advance(ms: number): void {
    const end = this.#nowMs + ms;
    for (;;) {
      const next = this.#pending.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#pending = this.#pending.filter((other) => other !== next);
      this.#nowMs = next.at;
      next.callback();
    }
    this.#nowMs = end;
  }

  /** How many timers are running. */
  get timers(): number {
    return this.#pending.length;
  }
}
