import type { Clock } from '../../common/clock.js';
import type { OperatorLog } from '../../common/operator-log.js';
import { AdmissionPeers, type Ledgers } from './admission-peers.js';
import { GatewayIdentity } from './gateway-identity.js';
import { PeersSecret } from './peers-secret.js';

/** What the configuration says of several gateways. */
export interface SharingPolicy {
  readonly store: string;
  readonly peers: string;
  readonly peersSecretFile?: string;
}

/** How this gateway shares the engines with others, from its start to its end. */
export class AdmissionSharing {
  readonly identity: GatewayIdentity;
  readonly #secret: PeersSecret | undefined;
  #peers: AdmissionPeers | undefined;

  constructor(
    private readonly policy: SharingPolicy,
    private readonly server: { readonly replicas: number; readonly management: string },
    hostName: string,
  ) {
    const { store, peersSecretFile } = policy;
    if (store === 'peers' && peersSecretFile !== undefined) this.#secret = new PeersSecret(peersSecretFile);
    this.identity = new GatewayIdentity({ ...server, hostName, secret: this.#secret });
  }

  /** The peers are out: shares are kept instead. */
  get degraded(): boolean {
    return this.#peers?.degraded === true;
  }

  start(ledgers: Ledgers, clock: Clock, log: OperatorLog): void {
    if (this.#secret === undefined) return;
    const { epoch } = this.identity;
    const { replicas } = this.server;
    const name = this.policy.peers;
    this.#peers = new AdmissionPeers({ epoch, name, replicas, secret: this.#secret, ledgers, clock, log });
    this.#peers.start();
  }

  async stop(): Promise<void> {
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
