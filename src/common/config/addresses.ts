import { isIP, isIPv4, isIPv6 } from 'node:net';
import { textLike } from './texts.js';

export interface HostPort {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

const HOST_PORT = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?)):(\d{1,5})$/u;
const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const V4_NETWORK = `(?:${OCTET}\\.){3}${OCTET}(?:\\/(?:3[0-2]|[12]?\\d))?`;
const V6_NETWORK = '(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+(?:\\/(?:12[0-8]|1[01]\\d|[1-9]?\\d))?';
/** All that a pattern can say; which texts with colons are addresses, it cannot. */
const NETWORK = new RegExp(`^(?:${V4_NETWORK}|${V6_NETWORK})$`, 'u');
const NUMBERS_AND_DOTS = /^[0-9.]+$/u;

/** Splits `host:port`. undefined: it is none. */
export function parseHostPort(text: string): HostPort | undefined {
  const [, bracketed, plain, digits] = HOST_PORT.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535) return undefined;
  if (bracketed !== undefined ? !isIPv6(host) : NUMBERS_AND_DOTS.test(host) && !isIPv4(host)) return undefined;
  return { host, port };
}

export interface Network {
  readonly family: 4 | 6;
  readonly prefixLength: number;
}

/** Reads a network (`10.0.0.0/8`) or a single address. undefined: it is none. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', digits] = NETWORK.test(text) ? text.split('/') : [];
  const version = isIP(address);
  if (version !== 4 && version !== 6) return undefined;
  const bits = version === 4 ? 32 : 128;
  const prefixLength = digits === undefined ? bits : Number(digits);
  return prefixLength > bits ? undefined : { family: version, prefixLength };
}

/** The URL, where the text is an absolute http or https one that means what it shows: no credentials, no fragment. */
export function parseHttpUrl(text: string): URL | undefined {
  if (!/^https?:\/\/[^\s\\]+$/u.test(text) || text.includes('#') || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.username === '' && url.password === '' && !text.includes('@') ? url : undefined;
}

export const hostAndPort = textLike(
  HOST_PORT,
  'host:port with a port from 0 to 65535, an IPv6 address in brackets',
  (text) => parseHostPort(text) !== undefined,
);

export const network = textLike(
  NETWORK,
  'an address or a network such as 10.0.0.0/8 or fd00::/8',
  (text) => parseNetwork(text) !== undefined,
);

/** Only an origin: paths are written where they are used, so that none can be lost between two places. */
export const originUrl = textLike(
  /^https?:\/\/[^\s\\/?#@]+\/?$/u,
  'an http or https URL of host and port alone: no credentials, path, query or fragment',
  (text) => parseHttpUrl(text) !== undefined,
);

/** As a browser sends it in `Origin`. */
export const browserOrigin = textLike(
  /^https?:\/\/[^\s\\/?#@]+$/u,
  'an origin such as https://console.example, without a slash at its end',
  (text) => parseHttpUrl(text)?.origin === text,
);

export const webUrl = textLike(
  /^https?:\/\/[^\s\\#@/?][^\s\\#@]*$/u,
  'an http or https URL without credentials or fragment',
  (text) => parseHttpUrl(text) !== undefined,
);

export const baseUrl = textLike(
  /^https?:\/\/[^\s\\#@/?][^\s\\#@?]*\/$/u,
  'an http or https URL that ends in "/", without credentials, query or fragment',
  (text) => parseHttpUrl(text) !== undefined,
);

const REDIS = 'redis:\\/\\/[^\\s\\/?#]+(?:\\/[0-9]{0,5})?';

/** A store: one of the words, or where a Redis is. */
export const storeOr = (...words: readonly string[]) =>
  textLike(
    new RegExp(`^(?:${words.join('|')}|${REDIS})$`, 'u'),
    `${words.join(', ')} or redis://host:port/db`,
    (text) => words.includes(text) || (URL.canParse(text) && new URL(text).hostname !== ''),
  );
