/** Time that a test can hold still. Durations and deadlines use `now`, which a step of the wall clock never moves. */
export interface Clock {
  /** Milliseconds on a monotonic clock; only differences mean something. */
  now(): number;
  /** Calls back once, `delayMs` from now. The timer never keeps the process alive. */
  after(delayMs: number, callback: () => void): Timer;
}

/** A pending call of `Clock.after`. Cancelling it after it fired, or twice, does nothing. */
export interface Timer {
  cancel(): void;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const handle = setTimeout(callback, delayMs).unref();
    return { cancel: () => clearTimeout(handle) };
  },
};
