import type { Judge, JudgeTerms } from './judge.js';
import type { Refusal, RefusalReason } from './pool-types.js';
import { retryAfterSeconds, type DrainRate } from './retry-after.js';

/** A request that got no place, as it is told. */
export interface Refused {
  readonly refusal: Refusal;
  readonly retryAfterSeconds: number;
  readonly why: RefusalReason;
}

/** What refusals depend on. */
export interface RefusalTerms extends Pick<JudgeTerms, 'policy' | 'room' | 'activity'> {
  readonly judge: Pick<Judge, 'endpoints'>;
  readonly drain: DrainRate;
  /** 0 to 1. */
  readonly random: () => number;
}

/** Who may not join a line, and when to come back. */
export class Refusals {
  /** Nobody joins a line any more. */
  draining = false;

  constructor(private readonly terms: RefusalTerms) {}

  /** Why a request of that band cannot wait; undefined: it can. */
  ofNewcomer(band: number): Refusal | undefined {
    if (this.draining) return 'draining';
    return this.#waiting(band) >= (this.terms.policy.bands[band]?.capacity ?? 0) ? 'queue-full' : undefined;
  }

  /** Some request would be turned away now, whatever it asked for. Where nobody waits, any might find a place at once. */
  get isSomeCertain(): boolean {
    const { room } = this.terms;
    return !room.isEmpty && room.bands.some((_, band) => this.ofNewcomer(band) !== undefined);
  }

  /** How one that asks in that band is turned away, whatever for; undefined: it is not, or that depends on it. */
  certain(band: number, now: number): Refused | undefined {
    const { room, activity } = this.terms;
    const refusal = room.isEmpty ? undefined : this.ofNewcomer(band);
    if (refusal === undefined) return undefined;
    activity.asked(band, now);
    const why = { waiting: this.#waiting(band), waitedMs: 0, heldBy: undefined };
    return { refusal, retryAfterSeconds: this.retryAfter(band, now), why };
  }

  /** Seconds until it is worth another try, by what is ahead in that band and the higher ones. */
  retryAfter(band: number, now: number): number {
    const { policy, room, judge, drain, random } = this.terms;
    const workMs = drain.msAhead(room.bands.slice(0, band + 1), judge.endpoints.length, now);
    return retryAfterSeconds(workMs, policy.retryAfterMs, random());
  }

  #waiting(band: number): number {
    return this.terms.room.bands[band]?.size ?? 0;
  }
}
