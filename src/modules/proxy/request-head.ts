import type { IncomingMessage } from 'node:http';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';

const MAX_FIELDS = 100;
const MAX_TARGET_BYTES = 8192;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']);
/** Fields whose repetition lets two readers see two requests: by name, a bit each. */
const SINGLETONS = new Map(
  [
    'authorization',
    'content-encoding',
    'content-length',
    'content-type',
    'expect',
    'host',
    'transfer-encoding',
    'x-api-key',
  ].map((name, index) => [name, 1 << index]),
);
/** RFC 3986 pchar without percent signs, `;` (path parameters) and what servers fold into something else. */
const PLAIN_PATH = /^\/[A-Za-z0-9._~!$&'()*+,=:@/-]*$/;
/** The same with well-formed percent encoding: only where the caller decodes exactly once. */
const ENCODED_PATH = /^\/(?:[A-Za-z0-9._~!$&'()*+,=:@/-]|%[0-9A-Fa-f]{2})*$/;
const QUERY = /^[\x21-\x22\x24-\x7e]*$/;

const bad = (detail: string): GatewayProblem =>
  new GatewayProblem('invalid-request-head', { detail, closeConnection: true });

/** The path of a request target: what stands before the query. */
export function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}

/** Whether a request target lies in the part of the surface where the Messages dialect is spoken, errors included. */
export function isAnthropicTarget(target: string): boolean {
  return target.startsWith('/llm') && (target.length === 4 || target[4] === '/' || target[4] === '?');
}

/**
 * What Node's parser lets through and this gateway does not: undefined for a head that has one reading only.
 * `mayBeEncoded` tells for which paths percent encoding is accepted; every other fixed path has one spelling
 * (RFC 9110 section 4.2.3 leaves the choice to the server). `isServed`: the target is one of this gateway's own, letter
 * by letter, and is looked at no further.
 */
export function headFault(
  request: IncomingMessage,
  mayBeEncoded: (path: string) => boolean,
  isServed: (target: string) => boolean,
): GatewayProblem | undefined {
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') {
    return new GatewayProblem('version-not-supported', {
      detail: 'HTTP/1.1 is spoken here.',
      closeConnection: true,
    });
  }
  const target = request.url ?? '';
  const fault = fieldsFault(request) ?? (isServed(target) ? undefined : targetFault(target, mayBeEncoded));
  return fault ?? methodFault(request.method ?? '');
}

function fieldsFault(request: IncomingMessage): GatewayProblem | undefined {
  const raw = request.rawHeaders;
  if (raw.length > 2 * MAX_FIELDS) {
    return new GatewayProblem('headers-too-large', {
      detail: `More than ${MAX_FIELDS} header fields.`,
      extensions: { limit: MAX_FIELDS },
      closeConnection: true,
    });
  }
  const repeated = repeatedSingleton(raw);
  if (repeated !== undefined) return bad(`The field ${repeated} is given more than once.`);
  const { host, 'transfer-encoding': coding } = request.headers;
  if (host === undefined || host === '') return bad('The Host field is missing or empty.');
  if (coding === undefined) return undefined;
  if (request.httpVersion === '1.0') return bad('Transfer-Encoding does not exist in HTTP/1.0.');
  if (coding.toLowerCase() !== 'chunked') return bad('The only transfer coding taken is chunked.');
  if (request.headers['content-length'] !== undefined)
    return bad('Both Content-Length and Transfer-Encoding are given.');
  return undefined;
}

function repeatedSingleton(raw: readonly string[]): string | undefined {
  let seen = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] ?? '').toLowerCase();
    const bit = SINGLETONS.get(name);
    if (bit === undefined) continue;
    if ((seen & bit) !== 0) return name;
    seen |= bit;
  }
  return undefined;
}

function targetFault(target: string, mayBeEncoded: (path: string) => boolean): GatewayProblem | undefined {
  if (target.length > MAX_TARGET_BYTES) {
    return new GatewayProblem('target-too-long', {
      detail: `The request target is longer than ${MAX_TARGET_BYTES} bytes.`,
      extensions: { limit: MAX_TARGET_BYTES },
      closeConnection: true,
    });
  }
  const path = pathOf(target);
  if (path.includes('//') || /\/\.{1,2}(?:\/|$)/.test(path)) return bad('The path has empty or dot segments.');
  if (!QUERY.test(target.slice(path.length))) return bad('The query has characters that must be encoded.');
  if (PLAIN_PATH.test(path)) return undefined;
  if (ENCODED_PATH.test(path)) {
    if (mayBeEncoded(path)) return undefined;
    return new GatewayProblem('not-found', { detail: 'No such path. Paths of this API are never percent-encoded.' });
  }
  return bad('The request target is not a path of plain characters.');
}

function methodFault(method: string): GatewayProblem | undefined {
  if (METHODS.has(method)) return undefined;
  return new GatewayProblem('method-unknown', {
    detail: `Methods taken: ${[...METHODS].join(', ')}.`,
    closeConnection: true,
  });
}
