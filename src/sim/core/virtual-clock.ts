import type { Clock, Timer } from '../../common/clock.js';

interface Pending {
  readonly dueMs: number;
  readonly callback: () => void;
}

/** A clock that stands still until it is told to move: hours of simulated load pass in the time it takes to compute them. */
export class VirtualClock implements Clock {
  private nowMs = 0;
  /** In the order of creation, which decides between calls that are due at one moment. */
  private readonly pending = new Set<Pending>();

  now(): number {
    return this.nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const call: Pending = { dueMs: this.nowMs + Math.max(0, delayMs), callback };
    this.pending.add(call);
    return { cancel: () => void this.pending.delete(call) };
  }

  /** Calls that wait. 0: nothing will ever happen again by itself. */
  get timers(): number {
    return this.pending.size;
  }

  /** Lets time pass, and everything happen that is due in it. */
  advance(byMs: number): void {
    const endMs = this.nowMs + byMs;
    while (this.runNext(endMs));
    this.nowMs = endMs;
  }

  /** Goes from call to call until none is left. Throws where the calls never end. */
  runAll(limit = 10_000_000): void {
    for (let calls = 0; this.runNext(Infinity); calls += 1) {
      if (calls >= limit) throw new Error(`timers are still pending after ${limit} calls`);
    }
  }

  private runNext(untilMs: number): boolean {
    let next: Pending | undefined;
    for (const call of this.pending) if (next === undefined || call.dueMs < next.dueMs) next = call;
    if (next === undefined || next.dueMs > untilMs) return false;
    this.pending.delete(next);
    this.nowMs = Math.max(this.nowMs, next.dueMs);
    next.callback();
    return true;
  }
}
