import { unauthenticated } from './refusal.js';

/** A year. */
export const DEFAULT_MAX_LIFETIME_MS = 365 * 24 * 3_600_000;

export interface ClaimsPolicy {
  readonly clockToleranceMs: number;
  readonly maxTokenLifetimeMs?: number;
}

type Claims = Readonly<Record<string, unknown>>;

/** Hashes that bind an ID token to what it was issued with (OpenID Connect Core sections 3.1.3.6 and 3.3.2.11). */
const ID_TOKEN_HASHES = ['at_hash', 'c_hash', 's_hash'];

/**
 * What JWT libraries leave open: that a token ends at all and not too late, that it was not issued in the future, that it
 * has a subject, and that it is an access token. `wallMs`: Unix time. Returns when it ends, tolerance included.
 */
export function checkClaims(claims: Claims, policy: ClaimsPolicy, wallMs: number): number {
  const { exp, iat, nbf, sub } = claims;
  if (typeof sub !== 'string' || sub === '') throw unauthenticated('malformed', 'sub');
  if (typeof exp !== 'number' || !Number.isFinite(exp)) throw unauthenticated('malformed', 'exp');
  const expiresAtMs = exp * 1000 + policy.clockToleranceMs;
  const furthestMs = wallMs + (policy.maxTokenLifetimeMs ?? DEFAULT_MAX_LIFETIME_MS) + policy.clockToleranceMs;
  if (wallMs >= expiresAtMs || exp * 1000 > furthestMs) throw unauthenticated('expired');
  for (const [name, time] of Object.entries({ iat, nbf })) {
    if (time === undefined) continue;
    if (typeof time !== 'number' || !Number.isFinite(time)) throw unauthenticated('malformed', name);
    if (time * 1000 > wallMs + policy.clockToleranceMs) throw unauthenticated('expired', name);
  }
  if (!isAccessToken(claims)) throw unauthenticated('malformed', 'not an access token');
  return expiresAtMs;
}

/**
 * Issuers sign ID and refresh tokens with the same key, sometimes for the same audience. Keycloak says in `typ`, Cognito
 * in `token_use` which one it is; ID tokens are known by their hashes, or by a nonce where no scope was granted.
 */
function isAccessToken(claims: Claims): boolean {
  const { typ, token_use: use, nonce, scope, events } = claims;
  if (typeof typ === 'string' && typ.toLowerCase() !== 'bearer') return false;
  if (use !== undefined && use !== 'access') return false;
  if (events !== undefined || (nonce !== undefined && scope === undefined)) return false;
  return !ID_TOKEN_HASHES.some((name) => Object.hasOwn(claims, name));
}
