import passport from 'passport';
import { Strategy, type StrategyOptionsWithoutRequest } from 'passport-jwt';
import { unauthenticated, type Refusal } from './core/refusal.js';
import type { PublishedKey } from './core/usable-keys.js';

/** Whose tokens, for whom. */
export interface JwtTerms {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly clockToleranceMs: number;
}

/** What passport takes for a request: the strategy reads the token from it and gets its key with it. */
interface VerificationRequest {
  readonly token: string;
  readonly key: PublishedKey;
}

type Middleware = (request: object, response: object, next: (error: unknown) => void) => void;

export type VerifiedClaims = Readonly<Record<string, unknown>>;

/**
 * Verifies tokens of one issuer with passport-jwt: signature, issuer, audience, expiry, not-before. Each issuer has a
 * passport of its own for each algorithm, so that a token is held against exactly the terms that are meant for it.
 */
export class JwtVerifier {
  readonly #passports = new Map<string, InstanceType<typeof passport.Passport>>();

  constructor(private readonly terms: JwtTerms) {}

  /** The claims of a token that is signed with this key by this algorithm. Throws a Refusal. */
  verify(token: string, key: PublishedKey, algorithm: string): VerifiedClaims {
    const request: VerificationRequest = { token, key };
    let claims: unknown;
    let failure: unknown = new Error('the strategy has not answered');
    const answered = (error: unknown, user: unknown = false, info?: unknown): void => {
      claims = user;
      failure = user === false ? (error ?? info) : undefined;
    };
    // passport-jwt answers before it returns where the key is at hand.
    const authenticate = this.#passportFor(algorithm).authenticate('jwt', { session: false }, answered) as Middleware;
    authenticate(request, {}, answered);
    if (failure !== undefined) throw refusalOf(failure);
    return claims as VerifiedClaims;
  }

  #passportFor(algorithm: string): InstanceType<typeof passport.Passport> {
    const found = this.#passports.get(algorithm);
    if (found !== undefined) return found;
    const made = new passport.Passport();
    made.use(strategyFor(this.terms, algorithm));
    this.#passports.set(algorithm, made);
    return made;
  }
}

function strategyFor({ issuer, audience, clockToleranceMs }: JwtTerms, algorithm: string): Strategy {
  const options = {
    jwtFromRequest: ({ token }: VerificationRequest) => token,
    secretOrKeyProvider: (
      { key }: VerificationRequest,
      _token: string,
      done: (error: unknown, pem: string) => void,
    ): void => done(null, key.pem),
    issuer,
    audience: [...audience],
    algorithms: [algorithm],
    jsonWebTokenOptions: { clockTolerance: clockToleranceMs / 1000 },
  };
  // The types know Express requests only, and the strategy looks at nothing but these two functions.
  return new Strategy(options as unknown as StrategyOptionsWithoutRequest, (claims: unknown, done) =>
    done(null, claims),
  );
}

/** jsonwebtoken's errors: two have a class of their own, the others are told by their text. */
function refusalOf(failure: unknown): Refusal {
  const { name, message } = failure instanceof Error ? failure : new Error('no reason was given');
  if (name === 'TokenExpiredError' || name === 'NotBeforeError') return unauthenticated('expired');
  if (message.startsWith('jwt audience invalid')) return unauthenticated('audience');
  if (message.startsWith('jwt issuer invalid')) return unauthenticated('issuer');
  if (message === 'invalid algorithm') return unauthenticated('algorithm');
  if (message.includes('signature')) return unauthenticated('signature');
  return unauthenticated('malformed', name);
}
