import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { OperatorLog } from '../../common/operator-log.js';

/** How an export ended; the library's code for success is 0. */
interface Outcome {
  readonly code: number;
  readonly error?: Error;
}
const SUCCESS: Outcome = { code: 0 };

/** Says once that nobody takes the traces, and once that somebody does again: a collector that is down is no flood. */
export class WatchedExporter implements SpanExporter {
  #lost = 0;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly log: OperatorLog,
  ) {}

  export(spans: ReadableSpan[], done: (outcome: Outcome) => void): void {
    this.exporter.export(spans, (outcome: Outcome) => {
      if (outcome.code === SUCCESS.code) this.#worked();
      else this.#failed(spans.length, outcome.error);
      // What failed has been told, and what called has nothing to add.
      done(SUCCESS);
    });
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  #worked(): void {
    if (this.#lost > 0) this.log.info({ lost_spans: this.#lost }, 'traces are taken again');
    this.#lost = 0;
  }

  #failed(spans: number, error: Error | undefined): void {
    if (this.#lost === 0) this.log.warn({ cause: causeOf(error) }, 'traces cannot be exported, and are lost meanwhile');
    this.#lost += spans;
  }
}

/** Kind and code, or the status that the collector answered: a message may quote a header. */
function causeOf(error: Error | undefined): string {
  if (error === undefined) return 'unknown';
  const code: unknown = 'code' in error ? error.code : undefined;
  return typeof code === 'string' || typeof code === 'number' ? `${error.name} ${code}` : error.name;
}
