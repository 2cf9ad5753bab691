import type { IncomingHttpHeaders } from 'node:http';
import { GatewayProblem } from '../../../common/problem/gateway-problem.js';

/** RFC 6455 section 4.1: 16 bytes in base64. */
const KEY = /^[+/0-9A-Za-z]{22}==$/;
const VERSION = '13';
/** What a list of tokens can consist of: in it, `trim` finds no other white space than RFC 9110 section 5.6.3 knows. */
const VISIBLE = /^[\t\x20-\x7e]*$/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** What of a request head makes it a WebSocket handshake or not. */
export interface HandshakeHead {
  readonly method?: string | undefined;
  readonly httpVersion: string;
  readonly headers: IncomingHttpHeaders;
}

const bad = (detail: string): GatewayProblem =>
  new GatewayProblem('invalid-request-head', { detail, closeConnection: true });

/** The subprotocols that a handshake offers, in its order. Throws a GatewayProblem for what is no handshake (RFC 6455 section 4.2.1). */
export function parseHandshake({ method, httpVersion, headers }: HandshakeHead): readonly string[] {
  if (httpVersion !== '1.1') throw bad('A WebSocket is opened over HTTP/1.1.');
  if (headers.upgrade?.toLowerCase() !== 'websocket')
    throw bad('The only protocol that can be upgraded to is websocket.');
  if (method !== 'GET') {
    throw new GatewayProblem('method-not-allowed', {
      detail: 'A WebSocket is opened with GET.',
      headers: { Allow: 'GET' },
    });
  }
  requireVersion(headers['sec-websocket-version']);
  if (!KEY.test(headers['sec-websocket-key'] ?? ''))
    throw bad('Sec-WebSocket-Key must be given once, as 16 bytes in base64.');
  // Bytes of a body would be read as frames.
  if (headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0') {
    throw bad('A WebSocket handshake has no body.');
  }
  return subprotocolsFrom(headers['sec-websocket-protocol']);
}

function requireVersion(version: string | undefined): void {
  if (version === VERSION) return;
  if (version === undefined) throw bad('Sec-WebSocket-Version is missing.');
  throw new GatewayProblem('upgrade-required', {
    detail: `The WebSocket version spoken here is ${VERSION}.`,
    headers: { 'Sec-WebSocket-Version': VERSION },
  });
}

function subprotocolsFrom(list: string | undefined): readonly string[] {
  if (list === undefined) return [];
  const names = list.split(',').map((name) => name.trim());
  const valid = VISIBLE.test(list) && names.every((name) => TOKEN.test(name));
  if (valid && new Set(names).size === names.length) return names;
  throw bad('Sec-WebSocket-Protocol is not a list of different tokens.');
}

/** Throws where a browser comes from a page that may not open sockets here. No `Origin`: not a browser. */
export function requireOrigin(rawHeaders: readonly string[], origins: readonly string[] | undefined): void {
  if (origins === undefined) return;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'origin' || origins.includes(rawHeaders[i + 1] ?? '')) continue;
    throw new GatewayProblem('forbidden', { detail: 'Pages of this origin may not open a WebSocket here.' });
  }
}
