import type { GatewayProblem } from '../../../common/problem/gateway-problem.js';

/** What every problem of one request is rendered with. */
export interface ProblemContext {
  readonly requestId: string;
  /** Prefix of the RFC 9457 `type`: the configuration's `problemBase`. */
  readonly problemBase: string;
}

/** Anthropic's SDKs sleep however long they are told; OpenAI's ignore more than a minute and come back at once. */
const LONGEST_RETRY_AFTER_SECONDS = 60;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** RFC 9562. Any other request id is a client's own. */
export const isUuid = (id: string): boolean => UUID.test(id);

/** The members of RFC 9457 and those of the case. A dialect adds its own to the same object. */
export function problemJson(problem: GatewayProblem, context: ProblemContext): Record<string, unknown> {
  const retryAfter = retryAfterSecondsOf(problem);
  return {
    ...problem.options.extensions,
    type: context.problemBase + problem.code,
    title: problem.kind.title,
    status: problem.status,
    detail: problem.options.detail,
    instance: `urn:${isUuid(context.requestId) ? 'uuid' : 'request'}:${context.requestId}`,
    request_id: context.requestId,
    ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
  };
}

/** The fields of a problem's response, in every dialect: name, value, name, value … */
export function problemHeaders(problem: GatewayProblem): string[] {
  const fields = ['content-type', 'application/problem+json', 'x-content-type-options', 'nosniff'];
  const retryAfter = retryAfterSecondsOf(problem);
  if (retryAfter !== undefined) fields.push('retry-after', String(retryAfter));
  if (wouldBeRetriedInVain(problem)) fields.push('x-should-retry', 'false');
  for (const [name, value] of Object.entries(problem.options.headers ?? {})) fields.push(name, value);
  return fields;
}

/** Whole seconds, at least one and at most what clients bear; undefined where no time is known. */
export function retryAfterSecondsOf(problem: GatewayProblem): number | undefined {
  const seconds = problem.options.retryAfterSeconds;
  if (seconds === undefined || Number.isNaN(seconds)) return undefined;
  return Math.min(Math.max(Math.ceil(seconds), 1), LONGEST_RETRY_AFTER_SECONDS);
}

function wouldBeRetriedInVain(problem: GatewayProblem): boolean {
  return !problem.retryable && (problem.status >= 500 || problem.status === 429);
}
