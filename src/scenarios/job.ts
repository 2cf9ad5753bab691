import type { Refusal } from '../modules/admission/core/pool-types.js';

/** One request that a client has in mind. */
export interface Job {
  /** What kind of load it belongs to, for the figures. */
  readonly load: string;
  readonly tenant: string;
  /** Index in BANDS. */
  readonly band: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Answers to one prompt; absent: one. */
  readonly choices?: number;
  /** The client leaves when it has no first token by then; absent: it stays. */
  readonly patienceMs?: number;
}

/** How a request ended, and when what happened; times in ms of the virtual clock. */
export interface Outcome {
  readonly job: Job;
  readonly arrivedAt: number;
  readonly firstAt: number | undefined;
  readonly endedAt: number;
  /** `failed`: the engine refused the connection or dropped the stream. */
  readonly how: 'served' | 'refused' | 'failed' | 'left';
  readonly refusal: Refusal | undefined;
  /** Told with a refusal. */
  readonly retryAfterMs: number | undefined;
  /** Between arrival and the last grant. */
  readonly queuedMs: number | undefined;
}
