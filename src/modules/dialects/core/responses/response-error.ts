import type { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { CONTEXT_OVERFLOW_CODE, type EngineError } from '../engine-error.js';
import { engineFailureOf } from '../openai-engine-error.js';
import { openAiErrorOf } from '../openai-problem.js';

/** Why an answer failed behind its head, in the dialect's few codes: by these clients decide whether to try again. */
export interface ResponseError {
  readonly code: string;
  readonly message: string;
}

export function responseErrorOf(error: EngineError, engineStatus: number): ResponseError {
  const { status, error: known } = engineFailureOf(error, engineStatus);
  return { code: codeOf(status, known.code), message: known.message };
}

/** What is not worth a retry keeps its own code: `server_error` would be an invitation. */
export function responseErrorFrom(problem: GatewayProblem): ResponseError {
  const { type, code, message } = openAiErrorOf(problem);
  return { code: type === 'server_error' ? type : String(code), message };
}

function codeOf(status: number, code: unknown): string {
  if (code === CONTEXT_OVERFLOW_CODE) return CONTEXT_OVERFLOW_CODE;
  if (status === 429) return 'rate_limit_exceeded';
  return status >= 500 || status === 408 ? 'server_error' : 'invalid_prompt';
}
