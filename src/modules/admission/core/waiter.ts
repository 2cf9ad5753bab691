import type { Lane, Queued } from './flow-queue.js';
import type { HeapItem } from './heap.js';
import { stretchOf } from './sizing.js';
import type { PoolListener, PoolRequest, RefusalReason, TestName, WorkClass } from './pool-types.js';

/** What is known of a request when it arrives. */
export interface WaiterTerms {
  readonly request: PoolRequest;
  readonly listener: PoolListener;
  readonly kind: WorkClass;
  /** Milliseconds of prefill. */
  readonly estimateMs: number;
  readonly since: number;
  /** When its patience ends. */
  readonly deadline: number;
  /** Endpoints that have refused it. */
  readonly tries: number;
}

/** Someone who waits. */
export class Waiter implements Queued, HeapItem {
  heapIndex = -1;
  lane: Lane<this> | undefined;
  previous: Queued | undefined;
  next: Queued | undefined;
  heldBy: TestName | undefined;
  /** Since when nothing but the engine's gauges has held it at the head of its queue. */
  gaugeHeldSince: number | undefined;
  readonly request: PoolRequest;
  readonly listener: PoolListener;
  readonly kind: WorkClass;
  readonly estimateMs: number;
  readonly since: number;
  readonly deadline: number;
  readonly tries: number;

  constructor(terms: WaiterTerms) {
    this.request = terms.request;
    this.listener = terms.listener;
    this.kind = terms.kind;
    this.estimateMs = terms.estimateMs;
    this.since = terms.since;
    this.deadline = terms.deadline;
    this.tries = terms.tries;
  }

  get tenant(): string {
    return this.request.tenant;
  }

  /** What stands in its way. */
  reason(waiting: number, now: number): RefusalReason {
    return { waiting, waitedMs: now - this.since, heldBy: this.heldBy };
  }

  /** This test holds it back; true: it is another one than before. */
  holdBy(test: TestName): boolean {
    if (this.heldBy === test) return false;
    this.heldBy = test;
    this.listener.held?.(test);
    return true;
  }

  /** Its patience has ended. */
  isOver(now: number): boolean {
    return now >= this.deadline;
  }

  /** At the head of its queue nothing but the engine's gauges has held it for as long as it waits for that. */
  isSaturated(now: number, maxParkMs: number): boolean {
    if (this.gaugeHeldSince === undefined) return false;
    return now - this.gaugeHeldSince >= maxParkMs * stretchOf(this.request, this.estimateMs);
  }
}
