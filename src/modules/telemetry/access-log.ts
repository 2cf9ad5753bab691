import { reasonOf } from '../../common/problem/problems.js';
import type { RequestRecord } from '../../common/request-record.js';

/** pino's numbers for the two levels that a request is logged at. */
export const REQUEST_LEVELS = { info: 30, warn: 40 } as const;

/** Told of a client that left before it was sent any status. */
const LEFT = 499;
/** What needs no escaping in JSON. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;
const LONGEST_CAUSE = 200;

/** A request that got an answer of the gateway's own is told at `warn`. */
export const requestLevel = ({ problem }: RequestRecord): 'info' | 'warn' => (problem === undefined ? 'info' : 'warn');

/**
 * One line for a request, at its end. Nothing in it comes from a body or a credential. Built by hand: with a serializer
 * it costs a twentieth of what relaying the request does. `mark`: members that say where it comes from.
 */
export function requestLine(record: RequestRecord, timeMs: number, mark = ''): string {
  const { arrivedAt, firstContentAt, problem, principal, usage } = record;
  let line = `{"level":${REQUEST_LEVELS[requestLevel(record)]},"time":${timeMs}${mark}`;
  line += `,"request_id":"${record.requestId}"` + word('trace_id', record.traceId);
  line += text('route', record.route) + text('method', record.method) + word('dialect', record.dialect);
  line += text('model', record.model) + text('upstream', record.upstream);
  line += text('tenant', principal?.tenant) + text('band', principal?.band);
  line += count('status', record.status || LEFT) + word('phase', record.phase);
  if (record.clientGone) line += ',"client_gone":true';
  line += word('outcome', record.upstreamOutcome) + count('queue_ms', record.queuedMs);
  if (firstContentAt !== undefined) line += count('ttft_ms', firstContentAt - arrivedAt);
  line += count('duration_ms', record.endedAt - arrivedAt);
  line += count('request_bytes', record.requestBytes) + count('response_bytes', record.responseBytes);
  if (usage !== undefined) {
    line += count('prompt_tokens', usage.promptTokens) + count('completion_tokens', usage.completionTokens);
  }
  if (record.tokens !== undefined) line += count('tokens', record.tokens);
  if (record.tokensEstimated) line += ',"tokens_estimated":true';
  if (problem === undefined) return `${line},"msg":"request"}\n`;
  line += text('reason', reasonOf(problem)) + text('cause', causeText(record.cause));
  return `${line},"msg":"request rejected"}\n`;
}

function text(name: string, value: string | undefined): string {
  if (value === undefined) return '';
  return PLAIN.test(value) ? `,"${name}":"${value}"` : `,"${name}":${JSON.stringify(value)}`;
}

/** A value that has nothing to escape: ours, or checked when it came in. */
const word = (name: string, value: string | undefined): string => (value === undefined ? '' : `,"${name}":"${value}"`);

const count = (name: string, value: number): string => `,"${name}":${Math.round(value)}`;

/** Kind and code of an error: its message may quote what a client or an engine wrote. */
function causeText(cause: unknown): string | undefined {
  if (cause === undefined) return undefined;
  if (typeof cause === 'string') return cause.slice(0, LONGEST_CAUSE);
  if (!(cause instanceof Error)) return typeof cause;
  const code = 'code' in cause && typeof cause.code === 'string' ? ` ${cause.code}` : '';
  return `${cause.name}${code}`.slice(0, LONGEST_CAUSE);
}
