import { createHash } from 'node:crypto';
import type { Clock } from '../../common/clock.js';
import type { OperatorLog } from '../../common/operator-log.js';
import type { SharedStore } from '../shared-store/shared-store.js';
import { AdmissionPeers, type Ledgers } from './admission-peers.js';
import type { PoolSharing } from './core/sharing.js';
import { ExactSharing, type SharingPool } from './exact-sharing.js';
import { GatewayIdentity } from './gateway-identity.js';
import { PeersSecret } from './peers-secret.js';

/** What the configuration says of several gateways. */
export interface SharingPolicy {
  readonly store: string;
  readonly peers: string;
  readonly peersSecretFile?: string;
}

/** Where this gateway runs. */
export interface GatewaySite {
  readonly replicas: number;
  readonly management: string;
  readonly hostName: string;
}

/** How this gateway shares the engines with others, from its start to its end. */
export class AdmissionSharing {
  readonly identity: GatewayIdentity;
  readonly #exact = new Map<string, ExactSharing>();
  readonly #secret: PeersSecret | undefined;
  #peers: AdmissionPeers | undefined;

  /** `store`: counts places for all gateways; undefined: nothing does. */
  constructor(
    private readonly policy: SharingPolicy,
    private readonly site: GatewaySite,
    private readonly clock: Clock,
    private readonly store?: SharedStore,
  ) {
    const { peersSecretFile } = policy;
    // Peers are what is left of a store that is out, too.
    if (policy.store !== 'none' && peersSecretFile !== undefined) this.#secret = new PeersSecret(peersSecretFile);
    const tenantKey = this.#secret ?? (store === undefined ? undefined : UNKEYED);
    this.identity = new GatewayIdentity({ ...site, secret: tenantKey });
  }

  /** The store or the peers are out: shares are kept instead. */
  get degraded(): boolean {
    return this.store === undefined ? this.#peers?.degraded === true : !this.store.up;
  }

  sharingOf(upstream: string, intervalMs: number | undefined): PoolSharing | undefined {
    const identified = this.identity.sharingOf(intervalMs);
    if (identified === undefined) return undefined;
    const sharing = { ...identified, told: (): boolean => this.#peers?.degraded === false };
    if (this.store === undefined) return sharing;
    const exact = new ExactSharing(this.store, upstream, sharing, this.clock);
    this.#exact.set(upstream, exact);
    return exact;
  }

  serve(upstream: string, pool: SharingPool): void {
    this.#exact.get(upstream)?.serve(pool);
  }

  start(ledgers: Ledgers, log: OperatorLog): void {
    if (this.store !== undefined) watchStore(this.store, log);
    if (this.#secret === undefined) return;
    const { epoch } = this.identity;
    const { replicas } = this.site;
    const [name, secret, clock] = [this.policy.peers, this.#secret, this.clock];
    this.#peers = new AdmissionPeers({ epoch, name, replicas, secret, ledgers, clock, log });
    this.#peers.start();
  }

  async stop(): Promise<void> {
    for (const exact of this.#exact.values()) exact.close();
    await this.#peers?.stop();
  }

  /** Whether other gateways may ask here. */
  get tells(): boolean {
    return this.#secret !== undefined;
  }

  /** The answer to another gateway; undefined: it has not proved that it is one. */
  answer(authorization: string | undefined): string | undefined {
    return this.#peers?.answer(authorization);
  }
}

/** One line when the store goes out, and one when it is back. */
function watchStore(store: SharedStore, log: OperatorLog): void {
  const tell = (): void => {
    if (store.up) log.info({}, 'The admission store counts places for all gateways.');
    else
      log.warn({ cause: store.fault }, 'The admission store is out: this gateway keeps to its share of the engines.');
  };
  if (!store.up) tell();
  store.onTurn(tell);
}

/** Names for tenants where no secret is configured: whoever reads the store may guess whose they are. */
const UNKEYED = {
  tenantKey: (tenant: string): string => createHash('sha256').update(tenant).digest('base64url').slice(0, 22),
};
