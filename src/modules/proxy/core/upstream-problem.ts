import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import type { UpstreamOutcome } from '../../../common/request-record.js';

/** How a call failed before its answer was complete. */
export interface UpstreamFailure {
  readonly problem: GatewayProblem;
  readonly outcome: UpstreamOutcome;
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);
const NO_CONNECTION = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN']);
/** It is this process or machine that has no socket left, and the upstream that is not to blame. */
const NO_SOCKET = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);
const NO_SOCKET_RETRY_SECONDS = 5;
const INVALID = /^(?:HPE_|UND_ERR_(?:HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH|INFO|INVALID))/;

const codeOf = (error: unknown): string => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
};

/**
 * What an error of the HTTP client means for the caller. Addresses and library texts stay in the cause. `midway`: part
 * of the answer has been passed on already.
 */
export function upstreamFailure(error: unknown, midway: boolean): UpstreamFailure {
  if (error instanceof GatewayProblem) return { problem: error, outcome: 'server_error' };
  const code = codeOf(error);
  if (TIMEOUTS.has(code)) {
    const detail = 'The engine did not answer in time (upstream timeout).';
    return { problem: new GatewayProblem('upstream-timeout', { detail, cause: error }), outcome: 'timeout' };
  }
  if (NO_CONNECTION.has(code)) {
    const detail = 'The engine could not be reached (server_error).';
    return { problem: new GatewayProblem('upstream-unreachable', { detail, cause: error }), outcome: 'refused' };
  }
  if (NO_SOCKET.has(code)) return { problem: noSocket(error), outcome: 'cancelled' };
  if (INVALID.test(code)) {
    const detail = 'The engine sent something that is not HTTP (server_error).';
    return { problem: new GatewayProblem('upstream-invalid', { detail, cause: error }), outcome: 'server_error' };
  }
  if (midway) {
    const detail = 'The engine broke off in the middle of its answer (server_error).';
    return { problem: new GatewayProblem('upstream-failed', { detail, cause: error }), outcome: 'reset' };
  }
  const detail = 'The engine closed the connection without an answer (server_error).';
  return { problem: new GatewayProblem('upstream-unreachable', { detail, cause: error }), outcome: 'reset' };
}

/** Of an answer that had not ended when its route's whole time was over. */
export const tooLong = (totalMs: number): GatewayProblem =>
  new GatewayProblem('upstream-timeout', {
    detail: `The answer took longer than the ${totalMs / 1000} s that this route allows (timeout).`,
  });

const noSocket = (cause: unknown): GatewayProblem =>
  new GatewayProblem('not-ready', {
    detail: 'The gateway has no socket left to reach the engine: overloaded.',
    retryAfterSeconds: NO_SOCKET_RETRY_SECONDS,
    cause,
  });

/** How a call has gone whose answer has this status. */
export function outcomeOf(status: number): UpstreamOutcome {
  if (status >= 500) return 'server_error';
  return status >= 400 ? 'client_error' : 'ok';
}
