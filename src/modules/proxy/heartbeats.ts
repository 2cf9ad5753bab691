import type { Clock, Timer } from '../../common/clock.js';

/** How silent a stream may be. */
export interface HeartbeatPolicy {
  readonly heartbeatMs: number;
  /** After so much silence a heartbeat is an event: some clients' idle timers do not see comments. */
  readonly heartbeatEventsAfterMs: number;
}

/** A stream that is kept alive while it has nothing to say. */
export interface Beating {
  /** Grows with everything that is sent, heartbeats left out. */
  readonly sentBytes: number;
  beat(asEvent: boolean): void;
}

interface Watched {
  sentBytes: number;
  /** When something other than a heartbeat was last seen to have been sent. */
  spokeAt: number;
  beatAt: number;
}

/** A heartbeat is at most so much of its interval late. */
const TICKS_A_BEAT = 8;
const LONGEST_TICK_MS = 1000;

/**
 * Keeps silent streams alive. One timer for all of them, and none while there are none; a stream that flows costs a
 * comparison a tick.
 */
export class Heartbeats {
  readonly #streams = new Map<Beating, Watched>();
  readonly #tickMs: number;
  #timer: Timer | undefined;

  constructor(
    private readonly policy: HeartbeatPolicy,
    private readonly clock: Clock,
  ) {
    this.#tickMs = Math.min(LONGEST_TICK_MS, policy.heartbeatMs / TICKS_A_BEAT);
  }

  watch(stream: Beating): void {
    const now = this.clock.now();
    this.#streams.set(stream, { sentBytes: stream.sentBytes, spokeAt: now, beatAt: now });
    this.#arm();
  }

  /** Leaves a stream alone from now on. One that is not watched is ignored. */
  unwatch(stream: Beating): void {
    if (!this.#streams.delete(stream) || this.#streams.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  get watched(): number {
    return this.#streams.size;
  }

  #arm(): void {
    this.#timer ??= this.clock.after(this.#tickMs, () => {
      this.#timer = undefined;
      this.#tick();
      if (this.#streams.size > 0) this.#arm();
    });
  }

  #tick(): void {
    const now = this.clock.now();
    const { heartbeatMs, heartbeatEventsAfterMs } = this.policy;
    for (const [stream, seen] of this.#streams) {
      if (stream.sentBytes !== seen.sentBytes) {
        seen.sentBytes = stream.sentBytes;
        seen.spokeAt = now;
      }
      if (now - Math.max(seen.spokeAt, seen.beatAt) < heartbeatMs) continue;
      seen.beatAt = now;
      stream.beat(now - seen.spokeAt >= heartbeatEventsAfterMs);
    }
  }
}
