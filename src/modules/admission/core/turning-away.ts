import type { PoolPolicy, Refusal } from './pool-types.js';
import { DrainRate, retryAfterSeconds } from './retry-after.js';
import type { Waiter } from './waiter.js';
import type { WaitingRoom } from './waiting-room.js';

/** Tells those who get no place why, and when to come back. */
export class TurningAway {
  readonly #drain = new DrainRate();

  constructor(
    private readonly policy: PoolPolicy,
    private readonly room: WaitingRoom,
    private readonly random: () => number,
  ) {}

  /** A place has come free. */
  note(now: number): void {
    this.#drain.note(now);
  }

  refuse(waiter: Waiter, refusal: Refusal, endpoints: number, now: number): void {
    const ahead = this.room.bands.slice(0, waiter.band + 1);
    const workMs = this.#drain.msAhead(ahead, endpoints, now);
    const seconds = retryAfterSeconds(workMs, this.policy.retryAfterMs, this.random());
    const waiting = this.room.bands[waiter.band]?.size ?? 0;
    waiter.listener.refused(refusal, seconds, waiter.reason(waiting, now));
  }
}
