import { ambiguous, unauthenticated } from './refusal.js';

/** Longer tokens are not looked at. */
export const MAX_TOKEN_CHARS = 8192;
const SCHEME = 'bearer ';

/** Node joins the values of a field that is repeated, or takes the first: neither makes two tokens out of one. */
interface Fields {
  readonly authorization?: string | undefined;
  readonly [name: string]: string | string[] | undefined;
}

/**
 * The token of a request; undefined: it has none. `bareField`: another field that may hold it, without a scheme. Two that
 * differ are refused, since somebody else may read the other one. Nothing here looks into the token. Throws a Refusal.
 */
export function tokenIn(fields: Fields, bareField: string | undefined): string | undefined {
  const { authorization } = fields;
  const bare = bareField === undefined ? undefined : fields[bareField];
  if (bare === undefined) return authorization === undefined ? undefined : bearerToken(authorization);
  const token = bareToken(bare);
  if (authorization !== undefined && bearerOrNothing(authorization) !== token) throw ambiguous();
  return token;
}

function bearerToken(authorization: string): string {
  const token = bearerOrNothing(authorization);
  if (token === undefined) throw unauthenticated('malformed', 'no Bearer token');
  return token;
}

/** RFC 9110 section 11.4: the scheme in any case, spaces, the token. */
function bearerOrNothing(authorization: string): string | undefined {
  if (authorization.length > MAX_TOKEN_CHARS + SCHEME.length) return undefined;
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  const token = authorization.slice(SCHEME.length).trimStart();
  return token === '' ? undefined : token;
}

function bareToken(value: string | string[]): string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_TOKEN_CHARS)
    throw unauthenticated('malformed', 'no token');
  return value;
}
