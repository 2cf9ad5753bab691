import { isIPv6 } from 'node:net';

/** Where one engine is reached. */
export interface EndpointPlace {
  /** host:port, an IPv6 address in brackets. */
  readonly id: string;
  /** What is dialled: scheme, host and port. */
  readonly origin: string;
  /** What it is asked for by (`Host`): the configured name, even where an address is dialled. */
  readonly authority: string;
}

const DEFAULT_PORTS: ReadonlyMap<string, string> = new Map([
  ['http:', '80'],
  ['https:', '443'],
]);

/** The URL as it is, or one address behind its name. */
export function placeOf(url: string, address?: string): EndpointPlace {
  const { protocol, hostname, port, host } = new URL(url);
  const dialled = address === undefined ? hostname : bracketed(address);
  const id = `${dialled}:${port === '' ? (DEFAULT_PORTS.get(protocol) ?? '') : port}`;
  return { id, origin: `${protocol}//${id}`, authority: host };
}

/** The name or address to look up. */
export const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/gu, '');

const bracketed = (address: string): string => (isIPv6(address) ? `[${address}]` : address);
