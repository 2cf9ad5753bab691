import type { RequestRecord } from '../../common/request-record.js';
import type { RequestTrace, TraceFields } from '../../common/request-trace.js';

/** Spans of the requests. What it does with them is its own business: none of it reaches a request. */
export interface Tracing {
  /** Continues the caller's trace, or begins one; decides whether it is sampled. */
  begin(fields: TraceFields): RequestTrace;
  /** Takes the spans of a closed record. */
  take(record: RequestRecord): void;
  /** Sends what is left, for a moment at most. Never rejects. */
  end(): Promise<void>;
}
