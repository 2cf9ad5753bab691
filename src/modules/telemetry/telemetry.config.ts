import { Flag, OneOf } from '../../common/config/texts.js';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** What is told about the requests. */
export class TelemetryConfig {
  @OneOf(LOG_LEVELS)
  readonly logLevel!: (typeof LOG_LEVELS)[number];

  /** Where and how: the standard OTEL_* variables. */
  @Flag()
  readonly tracing!: boolean;
}
