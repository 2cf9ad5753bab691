import { randomUUID } from 'node:crypto';
import type { PoolSharing } from './core/sharing.js';
import type { PeersSecret } from './peers-secret.js';
import { replicaIndex } from './replica-index.js';

/** Upstreams without gauges are read by nobody: their share does not turn. */
const NEVER_READ_MS = 60_000;

export interface IdentityTerms {
  readonly replicas: number;
  /** Of the machine or pod: its ordinal, where it ends in one, says which gateway this is. */
  readonly hostName: string;
  readonly management: string;
  /** undefined: nobody is told anything. */
  readonly secret: Pick<PeersSecret, 'tenantKey'> | undefined;
}

/** Which of several gateways this is. */
export class GatewayIdentity {
  readonly epoch = randomUUID();
  readonly index: number;

  constructor(private readonly terms: IdentityTerms) {
    this.index = replicaIndex(terms.hostName, terms.management, terms.replicas);
  }

  /** How the pool of an upstream shares; undefined: this is the only gateway. */
  sharingOf(intervalMs: number | undefined): PoolSharing | undefined {
    const { replicas, secret } = this.terms;
    if (replicas === 1 && secret === undefined) return undefined;
    return {
      index: this.index,
      gateways: replicas,
      epoch: this.epoch,
      readEveryMs: intervalMs ?? NEVER_READ_MS,
      wallTime: () => Date.now(),
      tenantKey: (tenant) => secret?.tenantKey(tenant) ?? tenant,
      told: () => false,
      live: () => false,
    };
  }
}
