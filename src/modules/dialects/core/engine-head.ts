import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { EngineHeaders } from '../../../common/rendering.js';

/**
 * The fields of an engine that may reach a client, besides its content type: when to come back, whether to, and how
 * long it took. Rate limits that a service grants the gateway's own credential are not the caller's.
 */
const HANDED_ON = ['retry-after', 'retry-after-ms', 'x-should-retry', 'openai-processing-ms'] as const;
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 407]);
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Throws a GatewayProblem where the answer is not for the client. */
export function checkEngineHead(status: number, headers: EngineHeaders): void {
  if (WITHOUT_BODY.has(status)) throw unusableAnswer(`the engine answered ${status}, which has no body`);
  if (REFUSALS.has(status) || (status >= 300 && status < 400)) {
    throw new GatewayProblem('upstream-refused-us', {
      detail: 'The engine does not accept this gateway; the request itself was not judged.',
      cause: new Error(`the engine answered ${status}`),
    });
  }
  // RFC 9110 section 15: a code outside of its classes is no HTTP.
  if (status < 200 || status > 599) throw unusableAnswer(`the engine answered ${status}`);
  const encoding = fieldOf(headers, 'content-encoding');
  if (encoding !== undefined && encoding.trim() !== '' && !/^\s*identity\s*$/i.test(encoding)) {
    throw unusableAnswer('the engine compressed its answer unasked');
  }
}

/** The first value of a field. */
export function fieldOf(headers: EngineHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** The fields that cross, as name, value, name, value …, without the content type. */
export function handedOnFields(headers: EngineHeaders): string[] {
  const out: string[] = [];
  for (const name of HANDED_ON) {
    const value = fieldOf(headers, name);
    if (value !== undefined) out.push(name, value);
  }
  return out;
}

export const isEventStream = (contentType: string | undefined): boolean =>
  contentType !== undefined && /^\s*text\/event-stream\s*(?:;|$)/i.test(contentType);

export const isJsonType = (contentType: string | undefined): contentType is string =>
  contentType === 'application/json' ||
  (contentType !== undefined && /^\s*application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType));

/** The problem of an answer that is none; `cause` is for the log. */
export function unusableAnswer(cause: string): GatewayProblem {
  return new GatewayProblem('upstream-invalid', {
    detail: 'The engine sent an answer that cannot be used (server_error).',
    cause: new Error(cause),
  });
}
