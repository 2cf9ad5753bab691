import { IdentityProvider, issuerKey } from './identity-provider.js';
import type { JsonObject } from './json.js';

/** What is to be thought of a caller. */
export type Standing = 'known' | 'poor' | 'brief' | 'expired' | 'forged' | 'stranger' | 'nobody';

/** A caller of one request; `token`: undefined where it has none. */
export interface Caller {
  readonly standing: Standing;
  readonly token: string | undefined;
}

/** The caller whose budget is soon spent. */
export const POOR = { name: 'poor', requests: 20, tokens: 1_000_000 };

/** In turn, as what a soak's requests want to happen is: the counts share no factor with those, so all combine. */
const STANDINGS: readonly Standing[] = [
  ...Array<Standing>(15).fill('known'),
  ...(['poor', 'brief', 'expired', 'forged', 'stranger', 'nobody'] as const),
];
/** Of those that are known, one in so many comes seldom. */
const SELDOM = 17;
/** Who comes often. */
const REGULARS = 499;
const BRIEF = 199;
const BRIEF_SECONDS = 5;

const standingOf = (index: number): Standing => STANDINGS[index % STANDINGS.length] ?? 'known';

/** Thousands of tenants with tokens of one issuer, and others who would like to be some of them. */
export class SoakCallers {
  #brief: readonly string[] = [];

  private constructor(
    readonly identity: IdentityProvider,
    /** One token of each tenant. */
    private readonly known: readonly string[],
    private readonly poor: string,
    private readonly expired: string,
  ) {}

  static async start(tenants: number): Promise<SoakCallers> {
    const identity = await IdentityProvider.start([], await issuerKey('soak', 'ES256'));
    const names = Array.from({ length: tenants }, (_, at) => `tenant-${String(at)}`);
    const known = await Promise.all(names.map((sub) => identity.sign({ sub })));
    const past = Math.floor(Date.now() / 1000) - 60;
    const poor = await identity.sign({ sub: POOR.name });
    return new SoakCallers(identity, known, poor, await identity.sign({ exp: past, iat: past - 60 }));
  }

  /** The gateway's section: no token outlives its time. */
  get section(): JsonObject {
    return { enabled: true, issuers: [this.identity.section], clockTolerance: '0s' };
  }

  /** From now on there are tokens that expire in a few seconds. */
  async signBrief(): Promise<void> {
    const exp = Math.floor(Date.now() / 1000) + BRIEF_SECONDS;
    const names = Array.from({ length: BRIEF }, (_, at) => `brief-${String(at)}`);
    this.#brief = await Promise.all(names.map((sub) => this.identity.sign({ sub, exp })));
  }

  /** Every tenant in turn. */
  inTurn(index: number): Caller {
    return { standing: 'known', token: this.known[index % this.known.length] };
  }

  /** Mostly regulars; each forgery is a new one. */
  mixed(index: number): Caller {
    const standing = standingOf(index);
    return { standing, token: this.#token(standing, index) };
  }

  stop(): Promise<void> {
    return this.identity.stop();
  }

  #token(standing: Standing, index: number): string | undefined {
    switch (standing) {
      case 'known':
        return index % SELDOM === 0 ? this.inTurn(index / SELDOM).token : this.known[index % REGULARS];
      case 'poor':
        return this.poor;
      case 'brief':
        return this.#brief[index % BRIEF];
      case 'expired':
        return this.expired;
      case 'forged':
        return this.#forged(index);
      case 'stranger':
        return this.#forged(index, { kid: `key-${String(index)}` });
      case 'nobody':
        return undefined;
    }
  }

  /** A token that is good, under another signature or with another head. */
  #forged(index: number, header?: JsonObject): string {
    const [head = '', claims = '', signature = ''] = this.inTurn(index).token?.split('.') ?? [];
    if (header === undefined)
      return [head, claims, base64url(index) + signature.slice(base64url(index).length)].join('.');
    const named = { ...(JSON.parse(Buffer.from(head, 'base64url').toString()) as JsonObject), ...header };
    return [base64url(JSON.stringify(named)), claims, signature].join('.');
  }
}

const base64url = (value: string | number): string => Buffer.from(String(value)).toString('base64url');
