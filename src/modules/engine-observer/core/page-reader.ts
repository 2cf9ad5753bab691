import type { EngineReading, GaugeName } from './engine-snapshot.js';
import type { FaultCounts, ScrapeFault } from './scrape-fault.js';

/** What the head of the answer says. */
export interface PageHead {
  readonly status: number;
  /** In lower case, '' where there is none. */
  readonly contentType: string;
  readonly header: (name: string) => string | undefined;
}

/** How a page was judged. */
export type PageVerdict =
  | {
      readonly ok: true;
      readonly reading: EngineReading;
      /** What the gate asks for and the page does not tell. */
      readonly gaps: readonly GaugeName[];
      readonly skipped: Partial<FaultCounts>;
    }
  | {
      readonly ok: false;
      readonly fault: ScrapeFault;
      /** For the operator: what exactly was wrong. */
      readonly detail: string;
      readonly skipped: Partial<FaultCounts>;
    };

/** Reads one answer as it arrives. */
export interface PageReader {
  /** Statuses whose body is worth reading. */
  readonly statuses: readonly number[];
  /** false: there is no need for more. */
  push(chunk: Uint8Array): boolean;
  finish(head: PageHead): PageVerdict;
}
