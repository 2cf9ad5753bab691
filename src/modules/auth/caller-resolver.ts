import type { IncomingMessage } from 'node:http';
import type { BandNames } from '../../common/band-names.js';
import type { Right } from '../../common/config/access-table.js';
import type { Principal } from '../../common/principal.js';
import { lowerBand, namedBand } from './core/bands.js';
import { ANONYMOUS, callerFromHeaders, type HeaderPolicy } from './core/caller-from-headers.js';
import { tokenIn } from './core/credential.js';
import { forbidden, NO_TOKEN, Refusal, type RefusalReason } from './core/refusal.js';
import { lackOf } from './rights.js';
import type { TokenVerifier } from './token-verifier.js';

/** The field in which Anthropic's clients send their token. */
const API_KEY = 'x-api-key';

/** What a route asks, and where its callers may put their token. */
export interface Demand {
  readonly right: Right;
  /** `x-api-key` may hold the token too. */
  readonly apiKey: boolean;
}

/** Whose word counts. */
export interface Trust {
  /** An address that may say who its callers are while auth is off (`identityFrom`, else `trustedProxies`). */
  readonly identity: (address: string) => boolean;
  /** An address that may put a token where a prefix looks for it (`trustedProxies`). */
  readonly proxy: (address: string) => boolean;
}

/** Finds out who calls, and whether the caller may. The one way in for requests and for sockets. */
export class CallerResolver {
  readonly #rejections = new Map<RefusalReason, number>();

  /** `tokens`: undefined while auth is off. */
  constructor(
    private readonly policy: HeaderPolicy,
    private readonly bands: BandNames,
    private readonly trust: Trust,
    private readonly tokens: TokenVerifier | undefined,
  ) {}

  /** How many were turned away why. */
  get rejections(): ReadonlyMap<RefusalReason, number> {
    return this.#rejections;
  }

  /** At once where the caller's token is known. Throws or rejects with a GatewayProblem: 400, 401, 403 or 503. */
  resolve(request: IncomingMessage, peerAddress: string, demand: Demand): Principal | Promise<Principal> {
    const { headers } = request;
    if (this.tokens === undefined)
      return callerFromHeaders(headers, this.trust.identity(peerAddress), this.policy, this.bands);
    if (!demand.right.token) return this.#lowered(this.#nobody(), headers);
    try {
      const token = tokenIn(headers, this.#bareField(demand, peerAddress));
      if (token !== undefined) return this.#callerOf(this.tokens.identify(token), headers, demand.right);
    } catch (error) {
      return this.#refuse(error);
    }
    // Thrown in there it would be caught and thrown again, and whoever knocks at every door costs as little as can be.
    return this.#refuse(NO_TOKEN);
  }

  #callerOf(
    found: Principal | Promise<Principal>,
    headers: IncomingMessage['headers'],
    right: Right,
  ): Principal | Promise<Principal> {
    if (!(found instanceof Promise)) return this.#admit(found, headers, right);
    return found.then((principal) => this.#admit(principal, headers, right)).catch(this.#refuse);
  }

  #bareField({ right, apiKey }: Demand, peerAddress: string): string | undefined {
    if (apiKey) return API_KEY;
    const { tokenHeader } = right;
    return tokenHeader !== undefined && this.trust.proxy(peerAddress) ? tokenHeader : undefined;
  }

  #admit(principal: Principal, headers: IncomingMessage['headers'], right: Right): Principal {
    const lacking = lackOf(principal, right);
    if (lacking !== undefined) throw forbidden(right, lacking);
    return this.#lowered(principal, headers);
  }

  /** Anyone may ask for less than is due to them. */
  #lowered(principal: Principal, headers: IncomingMessage['headers']): Principal {
    const asked = headers[this.policy.bandHeader];
    if (asked === undefined) return principal;
    const band = lowerBand(namedBand(asked, this.bands), principal.band, this.bands);
    return band === principal.band ? principal : { ...principal, band };
  }

  #nobody(): Principal {
    return { tenant: ANONYMOUS, band: this.bands.defaultBand, scopes: new Set() };
  }

  readonly #refuse = (error: unknown): never => {
    if (error instanceof Refusal) this.#rejections.set(error.reason, (this.#rejections.get(error.reason) ?? 0) + 1);
    throw error;
  };
}
