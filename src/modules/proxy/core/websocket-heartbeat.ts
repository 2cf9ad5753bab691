import type { Clock, Timer } from '../../../common/clock.js';

/** How long a side may be silent. */
export interface HeartbeatRule {
  readonly everyMs: number;
  /** It is asked from this many silent beats on; 0: at every beat. */
  readonly askAfter: number;
  /** Beats in a row without a sign of life after it was asked, at the last of which it is given up. */
  readonly missed: number;
}

/** The side that is listened to. */
export interface Listened {
  /** Bytes that it has sent so far; any of them is a sign of life. */
  readonly receivedBytes: number;
  /** It cannot be heard or asked just now, for reasons of the gateway's own. */
  readonly excused: boolean;
  ping(): void;
}

/** Asks a silent side for a sign of life, and tells when none comes. */
export class Heartbeat {
  #timer: Timer | undefined;
  #heardBytes = 0;
  #silent = 0;
  #missed = 0;
  #asked = false;

  constructor(
    private readonly clock: Clock,
    private readonly rule: HeartbeatRule,
    private readonly side: Listened,
    private readonly onSilent: () => void,
  ) {}

  start(): void {
    this.#heardBytes = this.side.receivedBytes;
    this.#timer = this.clock.after(this.rule.everyMs, () => this.#beat());
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #beat(): void {
    const { receivedBytes, excused } = this.side;
    if (excused || receivedBytes !== this.#heardBytes) this.#reset(receivedBytes);
    else this.#countSilence();
    if (this.#missed >= this.rule.missed) return this.onSilent();
    if (!excused && this.#silent >= this.rule.askAfter) this.#ask();
    this.#timer = this.clock.after(this.rule.everyMs, () => this.#beat());
  }

  #reset(heardBytes: number): void {
    this.#heardBytes = heardBytes;
    this.#silent = 0;
    this.#missed = 0;
    this.#asked = false;
  }

  #countSilence(): void {
    this.#silent += 1;
    if (this.#asked) this.#missed += 1;
  }

  #ask(): void {
    this.#asked = true;
    this.side.ping();
  }
}
