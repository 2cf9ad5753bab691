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
/** Tokens that are being verified: each of them may be waiting for the keys of its issuer. */
const MAX_PENDING = 1024;

export interface VerifierPolicy extends ClaimsPolicy, IdentityPolicy {
  readonly algorithms: readonly string[];
}

/** Finds an issuer by the `iss` of a token, exactly as written. */
export interface IssuerView {
  find(issuer: unknown): Issuer | undefined;
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
  readonly #pending = new Map<string, Promise<Principal>>();

  /** `wallMs`: Unix time, which only tokens are measured by. */
  constructor(
    private readonly policy: VerifierPolicy,
    private readonly bands: BandNames,
    private readonly issuers: IssuerView,
    private readonly clock: Clock,
    private readonly wallMs: () => number,
  ) {}

  /** At once for a token that is known, without a promise. Throws or rejects with a Refusal. */
  identify(token: string): Principal | Promise<Principal> {
    const digest = hash('sha256', token, 'base64');
    const known = this.#verified.get(digest);
    if (known !== undefined) {
      if (this.wallMs() < known.expiresAtMs && this.clock.now() < known.key.goodUntilMs) return known.principal;
      this.#verified.delete(digest);
    }
    return this.#pending.get(digest) ?? this.#begin(token, digest);
  }

  #begin(token: string, digest: string): Promise<Principal> {
    const jwt = parseJwt(token, this.policy.algorithms);
    const issuer = this.issuers.find(jwt.claims['iss']);
    if (issuer === undefined) throw unauthenticated('issuer');
    if (this.#pending.size >= MAX_PENDING) throw identityUnavailable();
    const pending = this.#verify(token, jwt, issuer)
      .then((verified) => {
        this.#verified.set(digest, verified);
        return verified.principal;
      })
      .finally(() => this.#pending.delete(digest));
    this.#pending.set(digest, pending);
    return pending;
  }

  async #verify(token: string, jwt: UnverifiedJwt, issuer: Issuer): Promise<Verified> {
    const { alg, kid } = jwt;
    // Whatever else is wrong with it, no fetch is made for a token that could not be accepted anyway.
    checkClaims(jwt.claims, this.policy, this.wallMs());
    const key = await this.#keyOf(kid, issuer);
    if (!key.published.algorithms.includes(alg)) throw unauthenticated('algorithm');
    const claims = issuer.verifier.verify(token, key.published, alg);
    const expiresAtMs = checkClaims(claims, this.policy, this.wallMs());
    return { principal: principalFromClaims(claims, this.policy, this.bands), expiresAtMs, key };
  }

  #keyOf(kid: string, { keys }: Issuer): HeldKey | Promise<HeldKey> {
    return keys.find(kid) ?? keys.seek(kid).then(foundOrRefused);
  }
}

function foundOrRefused(found: HeldKey | 'unknown' | 'unavailable'): HeldKey {
  if (found === 'unavailable') throw identityUnavailable();
  if (found === 'unknown') throw unauthenticated('signature', 'no such key');
  return found;
}
