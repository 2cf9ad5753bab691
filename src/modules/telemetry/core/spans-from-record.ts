import { PROBLEMS, reasonOf } from '../../../common/problem/problems.js';
import type { RequestRecord } from '../../../common/request-record.js';
import type { RequestTrace } from '../../../common/request-trace.js';
import { engineWords, methodWord, routeWords, type Attributes, type UpstreamPlace } from './span-attributes.js';

/** A span that is over, in no library's form. Times are milliseconds of the record's clock. */
export interface SpanDraft {
  readonly name: string;
  readonly kind: 'server' | 'internal' | 'client';
  /** undefined: nobody has been told it yet, and any will do. */
  readonly spanId: string | undefined;
  /** undefined: the trace begins here. */
  readonly parentSpanId: string | undefined;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly failed: boolean;
}

/** Probes ask every few seconds, and nobody will ever want to see that. */
const UNTOLD_ROUTES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * The spans of a closed record: the request, its wait for a place, its call to the upstream. None where the trace is
 * not sampled. Nothing in them comes from a body, a credential or the client's path.
 */
export function spansFromRecord(record: RequestRecord, place: UpstreamPlace | undefined): SpanDraft[] {
  const { trace } = record;
  if (trace === undefined || !trace.sampled) return [];
  if (UNTOLD_ROUTES.has(record.route) && trace.caller === undefined) return [];
  const spans = [serverSpan(record, trace)];
  if (record.queuedAt !== undefined) spans.push(admissionSpan(record, trace, record.queuedAt));
  if (record.dispatchedAt !== undefined) spans.push(upstreamSpan(record, trace, record.dispatchedAt, place));
  return spans;
}

function serverSpan(record: RequestRecord, trace: RequestTrace): SpanDraft {
  const reason = failureOf(record);
  return {
    name: record.route === 'none' ? methodWord(record) : `${methodWord(record)} ${record.route}`,
    kind: 'server',
    spanId: trace.serverSpanId,
    parentSpanId: trace.caller?.spanId,
    startMs: record.arrivedAt,
    endMs: record.endedAt,
    attributes: { ...routeWords(record), ...(reason !== undefined && { 'error.type': reason }) },
    // A client's own mistake and its leaving are no fault of the server: the conventions leave the status unset.
    failed: reason !== undefined,
  };
}

/** What went wrong on this side, an answer that broke off behind a good status included. */
function failureOf({ problem, status }: RequestRecord): string | undefined {
  if (problem !== undefined) return PROBLEMS[problem].status >= 500 ? reasonOf(problem) : undefined;
  return status >= 500 ? String(status) : undefined;
}

function admissionSpan(record: RequestRecord, trace: RequestTrace, startMs: number): SpanDraft {
  const { dispatchedAt, problem, principal } = record;
  const refused = dispatchedAt === undefined && problem !== undefined;
  return {
    name: 'admission',
    kind: 'internal',
    spanId: undefined,
    parentSpanId: trace.serverSpanId,
    startMs,
    endMs: Math.max(startMs, dispatchedAt ?? record.endedAt),
    attributes: {
      'gateway.upstream': record.upstream,
      'gateway.parked': record.parked,
      ...(principal !== undefined && { 'gateway.band': principal.band }),
      ...(refused && { 'error.type': reasonOf(problem) }),
    },
    failed: refused,
  };
}

function upstreamSpan(
  record: RequestRecord,
  trace: RequestTrace,
  startMs: number,
  place: UpstreamPlace | undefined,
): SpanDraft {
  const { attributes, name } = engineWords(record, place);
  const error = callFailure(record);
  return {
    name,
    kind: 'client',
    spanId: trace.upstreamSpanId,
    parentSpanId: trace.serverSpanId,
    startMs,
    endMs: Math.max(startMs, record.upstreamEndedAt ?? record.endedAt),
    attributes: { ...attributes, ...(error !== undefined && { 'error.type': error }) },
    failed: error !== undefined && error !== 'cancelled',
  };
}

/** For a client every 4xx and 5xx is an error, and so is a call that got no whole answer. */
function callFailure({ upstreamStatus, upstreamOutcome }: RequestRecord): string | undefined {
  if (upstreamStatus !== undefined && upstreamStatus >= 400) return String(upstreamStatus);
  return upstreamOutcome === 'ok' ? undefined : upstreamOutcome;
}
