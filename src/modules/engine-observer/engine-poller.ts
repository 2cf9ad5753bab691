import type { Clock, Timer } from '../../common/clock.js';

/** A turn comes up to this share of the interval earlier or later, so that gateways do not poll in step. */
const JITTER = 0.1;

export interface PollerOptions {
  readonly intervalMs: number;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** Polls now and then at its interval, never twice at once: a poll that takes longer only delays the next. */
export class EnginePoller {
  #timer: Timer | undefined;
  #stopped = false;

  /** `poll` must not reject. */
  constructor(
    private readonly poll: () => Promise<void>,
    private readonly options: PollerOptions,
  ) {}

  start(): void {
    void this.#turn();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #turn(): Promise<void> {
    const { clock } = this.options;
    const dueAtMs = clock.now() + this.#nextIntervalMs();
    await this.poll();
    if (this.#stopped) return;
    this.#timer = clock.after(Math.max(0, dueAtMs - clock.now()), () => void this.#turn());
  }

  #nextIntervalMs(): number {
    const { intervalMs, random } = this.options;
    return intervalMs * (1 - JITTER + 2 * JITTER * random());
  }
}
