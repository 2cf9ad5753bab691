import { MAX_TOKEN_CHARS } from './credential.js';
import { unauthenticated } from './refusal.js';

type Json = Readonly<Record<string, unknown>>;

/** A token taken apart; nothing in it has been verified. */
export interface UnverifiedJwt {
  readonly alg: string;
  readonly kid: string;
  readonly claims: Json;
}

const SEGMENT = /^[A-Za-z0-9_-]+$/;
/** Header members that change how a token is read, or say where its key is: none of that is a caller's to say. */
const NEVER_IN_HEADER = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c', 'zip', 'enc'];
/** RFC 9068 section 2.1 and what issuers write that do not keep to it. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'jwt', 'at+jwt', 'application/at+jwt']);
const MAX_KID_BYTES = 200;

/**
 * Takes a token apart (RFC 7515 compact form) and refuses what has more than one reading: segments must be base64url
 * as an encoder writes it, since decoders ignore the spare bits of the last character.
 */
export function parseJwt(token: string, algorithms: readonly string[]): UnverifiedJwt {
  if (token.length > MAX_TOKEN_CHARS) throw malformed('too long');
  const [head, body, signature, ...rest] = token.split('.', 4);
  if (head === undefined || body === undefined || signature === undefined || rest.length > 0)
    throw malformed('not three segments');
  const header = jsonIn(head, 'header');
  const claims = jsonIn(body, 'payload');
  bytesIn(signature, 'signature');
  return { ...checkedHeader(header, algorithms), claims };
}

function checkedHeader(header: Json, algorithms: readonly string[]): { alg: string; kid: string } {
  for (const name of NEVER_IN_HEADER) if (Object.hasOwn(header, name)) throw malformed(`${name} in the header`);
  const { alg, kid, typ } = header;
  if (typeof alg !== 'string' || !algorithms.includes(alg)) throw unauthenticated('algorithm');
  if (!TYPES.has(typeof typ === 'string' ? typ.toLowerCase() : typ)) throw malformed('another type of token');
  if (typeof kid !== 'string' || kid === '' || Buffer.byteLength(kid) > MAX_KID_BYTES) throw malformed('kid');
  return { alg, kid };
}

function jsonIn(segment: string, what: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(bytesIn(segment, what).toString('utf8'));
  } catch (error) {
    throw error instanceof SyntaxError ? malformed(`${what} is not JSON`) : error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw malformed(`${what} is no object`);
  return value as Json;
}

function bytesIn(segment: string, what: string): Buffer {
  const bytes = Buffer.from(segment, 'base64url');
  if (!SEGMENT.test(segment) || bytes.toString('base64url') !== segment) throw malformed(`${what} is not base64url`);
  return bytes;
}

const malformed = (cause: string): Error => unauthenticated('malformed', cause);
