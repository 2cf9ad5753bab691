import type { Candidate } from './admission-tests.js';
import type { Dated } from './deadlines.js';
import type { Lane, Queued } from './flow-queue.js';
import { stretchOf } from './sizing.js';
import type { PoolListener, PoolRequest, RefusalReason, TestName, Ticket, WorkClass } from './pool-types.js';

/** What is known of a request when it arrives. */
export interface WaiterTerms {
  readonly request: PoolRequest;
  /** Its tenant, as all gateways name it. */
  readonly tenant: string;
  /** In which order requests came. */
  readonly order: number;
  readonly listener: PoolListener;
  readonly kind: WorkClass;
  /** Milliseconds of prefill. */
  readonly estimateMs: number;
  readonly since: number;
  /** When its patience ends. */
  readonly deadline: number;
  /** Endpoints that have refused it. */
  readonly tries: number;
  /** Takes it out of the queue, if it waits. */
  readonly leave: (waiter: Waiter) => void;
}

/** Someone who waits, and the ticket by which it leaves: one object, for there may be many. */
export class Waiter implements Queued, Dated, Ticket {
  waits = false;
  lane: Lane<this> | undefined = undefined;
  heldBy: TestName | undefined = undefined;
  /** Since when nothing but the engine's gauges has held it at the head of its queue. */
  gaugeHeldSince: number | undefined = undefined;
  /** Since when it has left a place to another gateway's request. */
  yieldsSince: number | undefined = undefined;
  readonly request: PoolRequest;
  readonly tenant: string;
  readonly order: number;
  readonly listener: PoolListener;
  readonly band: number;
  readonly kind: WorkClass;
  readonly estimateMs: number;
  readonly since: number;
  readonly deadline: number;
  readonly tries: number;
  readonly #leave: (waiter: Waiter) => void;

  constructor(terms: WaiterTerms) {
    this.request = terms.request;
    this.tenant = terms.tenant;
    this.order = terms.order;
    this.listener = terms.listener;
    this.band = terms.request.band;
    this.kind = terms.kind;
    this.estimateMs = terms.estimateMs;
    this.since = terms.since;
    this.deadline = terms.deadline;
    this.tries = terms.tries;
    this.#leave = terms.leave;
  }

  cancel(): void {
    this.#leave(this);
  }

  /** Something has been sent to its client already. */
  get isCommitted(): boolean {
    return this.listener.committed?.() === true;
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

  /** At the head of its queue nothing but the engine's gauges has held it for as long as it waits for that. */
  isSaturated(now: number, maxParkMs: number): boolean {
    if (this.gaugeHeldSince === undefined) return false;
    return now - this.gaugeHeldSince >= maxParkMs * stretchOf(this.request, this.estimateMs);
  }
}

/** What the admission tests see of it. `reserves`: an endpoint is kept clear for it. */
export function candidateOf(waiter: Waiter, kvTokens: number, now: number, reserves: boolean): Candidate {
  const { band, kind, estimateMs, request } = waiter;
  return { band, kind, places: request.places, kvTokens, estimateMs, waitedMs: now - waiter.since, reserves };
}
