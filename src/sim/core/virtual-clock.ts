import type { Clock, Timer } from '../../common/clock.js';

interface Pending {
  readonly dueMs: number;
  /** Decides between calls that are due at one moment. */
  readonly order: number;
  readonly callback: () => void;
  /** Place in the heap; -1: it has been called or cancelled. */
  index: number;
}

const before = (a: Pending, b: Pending): boolean => (a.dueMs === b.dueMs ? a.order < b.order : a.dueMs < b.dueMs);

/** A clock that stands still until it is told to move: hours of simulated load pass in the time it takes to compute them. */
export class VirtualClock implements Clock {
  private nowMs = 0;
  private created = 0;
  /** A binary heap: the next call is the first. */
  private readonly pending: Pending[] = [];

  now(): number {
    return this.nowMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const dueMs = this.nowMs + Math.max(0, delayMs);
    const call: Pending = { dueMs, order: this.created, callback, index: this.pending.length };
    this.created += 1;
    this.pending.push(call);
    this.rise(call);
    return { cancel: () => this.remove(call) };
  }

  /** Calls that wait. 0: nothing will ever happen again by itself. */
  get timers(): number {
    return this.pending.length;
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
    const next = this.pending[0];
    if (next === undefined || next.dueMs > untilMs) return false;
    this.remove(next);
    this.nowMs = Math.max(this.nowMs, next.dueMs);
    next.callback();
    return true;
  }

  private remove(call: Pending): void {
    const { index } = call;
    if (index < 0) return;
    call.index = -1;
    const last = this.pending.pop();
    if (last === undefined || last === call) return;
    this.place(last, index);
    this.rise(last);
    this.sink(last);
  }

  private place(call: Pending, index: number): void {
    this.pending[index] = call;
    call.index = index;
  }

  private rise(call: Pending): void {
    for (;;) {
      const parent = call.index === 0 ? undefined : this.pending[(call.index - 1) >> 1];
      if (parent === undefined || !before(call, parent)) return;
      const { index } = call;
      this.place(call, parent.index);
      this.place(parent, index);
    }
  }

  private sink(call: Pending): void {
    for (;;) {
      const left = this.pending[2 * call.index + 1];
      const right = this.pending[2 * call.index + 2];
      const child = left !== undefined && right !== undefined && before(right, left) ? right : left;
      if (child === undefined || !before(child, call)) return;
      const { index } = call;
      this.place(call, child.index);
      this.place(child, index);
    }
  }
}
