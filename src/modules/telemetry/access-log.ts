import type { Logger } from 'pino';
import { reasonOf } from '../../common/problem/problems.js';
import type { RequestRecord } from '../../common/request-record.js';
import { countedStatus } from './metrics.js';

const whole = (value: number): number => Math.round(value);

/** One line for a request, at its end; a rejected one at `warn`. Nothing in it comes from a body or a credential. */
export function logRequest(log: Logger, record: RequestRecord): void {
  const line = {
    request_id: record.requestId,
    trace_id: record.traceId,
    route: record.route,
    method: record.method,
    dialect: record.dialect,
    model: record.model,
    upstream: record.upstream,
    tenant: record.principal?.tenant,
    band: record.principal?.band,
    status: countedStatus(record),
    phase: record.phase,
    client_gone: record.clientGone || undefined,
    outcome: record.upstreamOutcome,
    queue_ms: whole(record.queuedMs),
    ttft_ms: record.firstContentAt === undefined ? undefined : whole(record.firstContentAt - record.arrivedAt),
    duration_ms: whole(record.endedAt - record.arrivedAt),
    request_bytes: record.requestBytes,
    response_bytes: record.responseBytes,
    prompt_tokens: record.usage?.promptTokens,
    completion_tokens: record.usage?.completionTokens,
  };
  if (record.problem === undefined) log.info(line, 'request');
  else log.warn({ ...line, reason: reasonOf(record.problem), cause: causeText(record.cause) }, 'request rejected');
}

/** Kind and code of an error: its message may quote what a client or an engine wrote. */
function causeText(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  if (typeof cause === 'string') return cause.slice(0, 200);
  if (!(cause instanceof Error)) return typeof cause;
  const code = 'code' in cause && typeof cause.code === 'string' ? ` ${cause.code}` : '';
  return `${cause.name}${code}`.slice(0, 200);
}
