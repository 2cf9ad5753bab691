import type { Logger } from 'pino';
import type { RequestRecord } from '../../common/request-record.js';
import { requestLevel, requestLine } from './access-log.js';
import type { LogWriter } from './log-writer.js';
import type { Metrics } from './metrics.js';
import type { Tracing } from './tracing.js';

/** Where closed records go. A fault in here ends no request. */
export class Telemetry {
  readonly log: Logger;

  constructor(
    private readonly writer: LogWriter,
    private readonly metrics: Metrics,
    /** undefined: tracing is off. */
    readonly tracing?: Tracing,
  ) {
    this.log = writer.log;
  }

  /** Writes and sends what is buffered, before the process ends. */
  async end(): Promise<void> {
    await this.tracing?.end();
    this.writer.end();
  }

  readonly take = (record: RequestRecord): void => {
    try {
      this.metrics.count(record);
      if (this.log.isLevelEnabled(requestLevel(record)))
        this.writer.write(requestLine(record, Date.now(), this.writer.mark));
      if (record.problem === 'internal') this.#logFault(record);
      this.tracing?.take(record);
    } catch (error) {
      this.log.error({ request_id: record.requestId, stack: stackOf(error) }, 'a request could not be recorded');
    }
  };

  /** Our own fault: the stack names our code, and only that. */
  #logFault(record: RequestRecord): void {
    this.log.error({ request_id: record.requestId, stack: stackOf(record.cause) }, 'the gateway failed a request');
  }
}

/** The frames of an error, without its message, which may quote what a client sent. */
export function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '));
  return [error.name, ...frames.slice(0, 20)].join('\n');
}
