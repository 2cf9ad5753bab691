import type { Clock } from '../../common/clock.js';
import type { OperatorLog } from '../../common/operator-log.js';
import { KeySet, type KeyFault, type KeySetPolicy } from './core/key-set.js';
import { IssuerKeysClient } from './jwks-client.js';
import { JwtVerifier } from './jwt.strategy.js';

const DEFAULT_REFRESH_MS = 600_000;

/** The part of the auth section that issuers are made of. */
export interface IssuersPolicy {
  readonly enabled: boolean;
  readonly issuers: readonly {
    readonly issuer: string;
    readonly jwksUri: string;
    readonly audience: readonly string[];
  }[];
  readonly algorithms: readonly string[];
  readonly clockToleranceMs: number;
  readonly maxKeyAgeMs: number;
  readonly keyRefreshMs?: number;
  readonly keyGraceMs?: number;
}

/** One whose tokens count. */
export interface Issuer {
  readonly keys: KeySet;
  readonly verifier: Pick<JwtVerifier, 'verify'>;
}

/** All whose tokens count, with their keys. While auth is off there are none, and nothing is fetched. */
export class Issuers {
  readonly #byName = new Map<string, Issuer>();
  readonly #clients: IssuerKeysClient[] = [];
  readonly #outcomes = new Map<string, number>();

  constructor(
    policy: IssuersPolicy,
    clock: Clock,
    private readonly log: OperatorLog,
  ) {
    const keySetPolicy: KeySetPolicy = {
      refreshMs: Math.min(policy.keyRefreshMs ?? DEFAULT_REFRESH_MS, policy.maxKeyAgeMs),
      graceMs: policy.keyGraceMs ?? 0,
      maxAgeMs: policy.maxKeyAgeMs,
    };
    for (const { issuer, jwksUri, audience } of policy.enabled ? policy.issuers : []) {
      const client = new IssuerKeysClient(jwksUri, policy.algorithms, clock);
      const keys = new KeySet(keySetPolicy, () => client.fetch(), clock, this.#watch(issuer));
      const terms = { issuer, audience, clockToleranceMs: policy.clockToleranceMs };
      this.#clients.push(client);
      this.#byName.set(issuer, { keys, verifier: new JwtVerifier(terms) });
    }
  }

  /** Exactly as the token writes it. */
  find(issuer: unknown): Issuer | undefined {
    return typeof issuer === 'string' ? this.#byName.get(issuer) : undefined;
  }

  /** Those of which no key has ever come. */
  get keyless(): readonly string[] {
    return [...this.#byName].filter(([, { keys }]) => !keys.loaded).map(([issuer]) => issuer);
  }

  /** How many fetches of key sets ended how. */
  get outcomes(): ReadonlyMap<string, number> {
    return this.#outcomes;
  }

  /** Settles when every issuer has been asked once, whatever it said: what has keys by then serves from the first request. */
  async onModuleInit(): Promise<void> {
    await Promise.all([...this.#byName.values()].map(({ keys }) => keys.start()));
  }

  async onModuleDestroy(): Promise<void> {
    for (const { keys } of this.#byName.values()) keys.stop();
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  /** Counts each fetch; tells the operator when an issuer begins to fail, in another way than before, and when it is back. */
  #watch(issuer: string): (outcome: 'ok' | KeyFault) => void {
    let before: 'ok' | KeyFault | undefined;
    return (outcome) => {
      this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
      if (outcome === before) return;
      if (outcome === 'ok') this.log.info({ issuer }, 'the keys of the issuer are there');
      else this.log.error({ issuer, outcome }, complaintOf(outcome));
      before = outcome;
    };
  }
}

const complaintOf = (fault: KeyFault): string =>
  fault === 'no_keys'
    ? 'the issuer publishes no asymmetric key that can be used: without one no token of it is accepted'
    : 'the keys of the issuer cannot be fetched: those already here are used until auth.maxKeyAge';
