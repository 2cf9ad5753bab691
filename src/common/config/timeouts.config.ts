import { Optional } from './field.js';
import { DurationMs } from './quantities.js';

/** How long an exchange with an upstream may stand still. */
export class TimeoutsConfig {
  @DurationMs()
  readonly connectMs!: number;

  /** The longest silence of the upstream, the wait for its first byte included. */
  @DurationMs()
  readonly readMs!: number;

  /** The longest time that a byte waits for its taker, on either side. */
  @DurationMs()
  readonly writeMs!: number;

  /** The longest life of a stream or socket. Absent: no limit. */
  @Optional()
  @DurationMs()
  readonly totalMs?: number;
}
