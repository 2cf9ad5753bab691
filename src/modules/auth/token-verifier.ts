import { hash } from 'node:crypto';
import type { BandNames } from '../../common/band-names.js';
import type { Clock } from '../../common/clock.js';
import type { Principal } from '../../common/principal.js';
import { checkClaims, type ClaimsPolicy } from './core/check-claims.js';
import type { HeldKey } from './core/key-set.js';
import { parseJwt, type UnverifiedJwt } from './core/parse-jwt.js';
import { principalFromClaims, type IdentityPolicy } from './core/principal-from-claims.js';
import { RecentMap } from './core/recent-map.js';
import { identityUnavailable, unauthenticated } from './core/refusal.js';
import type { Issuer } from './issuers.js';

/** Verified tokens that are remembered. */
const MAX_REMEMBERED = 10_000;
/** Tokens that wait for the keys of their issuers. */
const MAX_SEEKING = 1024;

export interface VerifierPolicy extends ClaimsPolicy, IdentityPolicy {
  readonly algorithms: readonly string[];
}

/** Finds an issuer by the `iss` of a token, exactly as written. */
export interface IssuerView {
  find(issuer: unknown): Issuer | undefined;
}

/** A token on its way. */
interface Unverified {
  readonly token: string;
  readonly digest: string;
  readonly jwt: UnverifiedJwt;
  readonly issuer: Issuer;
}

/** What is remembered of a verified token: nothing of its text. */
interface Verified {
  readonly principal: Principal;
  /** Unix time, tolerance included. */
  readonly expiresAtMs: number;
  readonly key: HeldKey;
}

/**
 * Says whose a token is. One that has been verified is known again by the SHA-256 of all of it, for as long as it and
 * its key are good; what is remembered lives and dies with the configuration that it was verified by.
 */
export class TokenVerifier {
  readonly #verified = new RecentMap<Verified>(MAX_REMEMBERED);
  /** By the same digest: a token that many bring at once is verified once. */
  readonly #seeking = new Map<string, Promise<Principal>>();

  /** `wallMs`: Unix time, which only tokens are measured by. */
  constructor(
    private readonly policy: VerifierPolicy,
    private readonly bands: BandNames,
    private readonly issuers: IssuerView,
    private readonly clock: Clock,
    private readonly wallMs: () => number,
  ) {}

  /** At once for a token that is known or whose key is, without a promise. Throws or rejects with a Refusal. */
  identify(token: string): Principal | Promise<Principal> {
    const digest = hash('sha256', token, 'base64');
    const known = this.#verified.get(digest);
    if (known !== undefined) {
      if (this.wallMs() < known.expiresAtMs && this.clock.now() < known.key.goodUntilMs) return known.principal;
      this.#verified.delete(digest);
    }
    return this.#seeking.get(digest) ?? this.#begin(token, digest);
  }

  /** A token whose key is there is verified on the spot; only those whose key has to be sought wait, and not too many. */
  #begin(token: string, digest: string): Principal | Promise<Principal> {
    const jwt = parseJwt(token, this.policy.algorithms);
    const issuer = this.issuers.find(jwt.claims['iss']);
    if (issuer === undefined) throw unauthenticated('issuer');
    // Whatever else is wrong with it: no fetch is made for a token that could not be accepted anyway.
    checkClaims(jwt.claims, this.policy, this.wallMs());
    const key = issuer.keys.find(jwt.kid);
    const unverified = { token, digest, jwt, issuer };
    return key === undefined ? this.#seek(unverified) : this.#verify(unverified, key);
  }

  #seek(unverified: Unverified): Promise<Principal> {
    if (this.#seeking.size >= MAX_SEEKING) throw identityUnavailable();
    const { digest, jwt, issuer } = unverified;
    const seeking = issuer.keys
      .seek(jwt.kid)
      .then((found) => this.#verify(unverified, keyOrRefusal(found)))
      .finally(() => this.#seeking.delete(digest));
    this.#seeking.set(digest, seeking);
    return seeking;
  }

  #verify({ token, digest, jwt, issuer }: Unverified, key: HeldKey): Principal {
    if (!key.published.algorithms.includes(jwt.alg)) throw unauthenticated('algorithm');
    const claims = issuer.verifier.verify(token, key.published, jwt.alg);
    const expiresAtMs = checkClaims(claims, this.policy, this.wallMs());
    const principal = principalFromClaims(claims, this.policy, this.bands);
    this.#verified.set(digest, { principal, expiresAtMs, key });
    return principal;
  }
}

function keyOrRefusal(found: HeldKey | 'unknown' | 'unavailable'): HeldKey {
  if (found === 'unavailable') throw identityUnavailable();
  if (found === 'unknown') throw unauthenticated('signature', 'no such key');
  return found;
}
