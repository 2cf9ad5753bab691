import type { IncomingHttpHeaders } from 'node:http';
import { proxyRequestHeaders, proxyResponseHeaders, type OwnWords } from './headers.js';

type Peer = Parameters<typeof proxyRequestHeaders>[2];

const ASCII_VALUE = /^[\t\x20-\x7e]*$/;

/** Each side has a handshake of its own: nothing of it crosses but the subprotocol, which is negotiated. */
const isHandshakeField = (name: string): boolean => name.replaceAll('_', '-').startsWith('sec-websocket-');

/** The head of a request, as far as its fields go. */
export interface FieldsOfRequest {
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingHttpHeaders;
}

/** What an upstream is sent with the handshake: fields by name, a repeated one with all its values. */
export function upgradeRequestFields(
  { rawHeaders, headers }: FieldsOfRequest,
  peer: Peer,
  own: OwnWords,
  forward: readonly string[] | undefined,
): ReadonlyMap<string, readonly string[]> {
  const crossing = proxyRequestHeaders(rawHeaders, headers, peer, own, forward);
  const fields = new Map<string, string[]>();
  for (let i = 0; i + 1 < crossing.length; i += 2) {
    const name = crossing[i] ?? '';
    if (isHandshakeField(name)) continue;
    const values = fields.get(name);
    if (values === undefined) fields.set(name, [crossing[i + 1] ?? '']);
    else values.push(crossing[i + 1] ?? '');
  }
  return fields;
}

/**
 * What of an upstream's 101 goes into the client's, as header lines. Values beyond ASCII are left out: the library
 * that writes the lines would encode them anew.
 */
export function upgradeResponseLines(headers: IncomingHttpHeaders, forward: readonly string[] | undefined): string[] {
  return fieldLines(
    proxyResponseHeaders(headers, forward),
    (name) => !isHandshakeField(name) && name !== 'content-length',
  );
}

/** Name, value, name, value … as lines, without those that cannot be written as they are. */
export function fieldLines(fields: readonly string[], crosses: (name: string) => boolean = () => true): string[] {
  const lines: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? '';
    const value = fields[i + 1] ?? '';
    if (crosses(name) && ASCII_VALUE.test(value)) lines.push(`${name}: ${value}`);
  }
  return lines;
}
