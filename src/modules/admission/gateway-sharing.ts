import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Clock } from '../../common/clock.js';
import type { OperatorLog } from '../../common/operator-log.js';
import type { SharedStore } from '../shared-store/shared-store.js';
import type { PoolSharing } from './core/sharing.js';
import { ExactSharing, type SharingPool } from './exact-sharing.js';

/** An upstream that nobody reads the gauges of has no readings to take turns by. */
const NO_READINGS_EVERY_MS = 2000;
/** Tenants whose keys are remembered; all are forgotten when there are more. */
const REMEMBERED = 10_000;

/** This gateway among those that share the engines. */
export interface GatewayPlace {
  /** Which of them it is, from 0, as well as that can be told without asking anybody. */
  readonly index: number;
  readonly gateways: number;
  /** Anew at every start. */
  readonly epoch: string;
}

/** What is told to all gateways. */
export interface SharingMeans {
  /** Counts places for all gateways; undefined: nothing does. */
  readonly store: SharedStore | undefined;
  /** Where the key is that tenants' names are hashed with; undefined: they are hashed without one. */
  readonly secretFile: string | undefined;
}

/** How this gateway's pools share the engines with those of other gateways. */
export class GatewaySharing {
  readonly #exact = new Map<string, ExactSharing>();
  readonly #tenantKey: (tenant: string) => string;

  constructor(
    private readonly place: GatewayPlace,
    private readonly means: SharingMeans,
    private readonly clock: Clock,
  ) {
    this.#tenantKey = means.store === undefined ? (tenant) => tenant : keyed(means.secretFile);
  }

  /** The store is out, and shares are kept instead. */
  get degraded(): boolean {
    return this.means.store?.up === false;
  }

  /** How a pool is to share; undefined: there is nobody to share with. `readEveryMs`: between two readings of gauges. */
  sharingOf(upstream: string, readEveryMs = NO_READINGS_EVERY_MS): PoolSharing | undefined {
    const { store } = this.means;
    if (store === undefined && this.place.gateways === 1) return undefined;
    const share = {
      ...this.place,
      readEveryMs,
      wallTime: () => Date.now(),
      tenantKey: this.#tenantKey,
      live: () => false,
    };
    if (store === undefined) return share;
    const exact = new ExactSharing(store, upstream, share, this.clock);
    this.#exact.set(upstream, exact);
    return exact;
  }

  /** The pool that was made with what `sharingOf` gave: from now on it tells the others, and hears of them. */
  serve(upstream: string, pool: SharingPool): void {
    this.#exact.get(upstream)?.serve(pool);
  }

  close(): void {
    for (const exact of this.#exact.values()) exact.close();
  }
}

/** One line when the store goes out, and one when it is back. */
export function watchSharing({ store }: SharingMeans, log: OperatorLog): void {
  if (store === undefined) return;
  const tell = (): void => {
    if (store.up) log.info({}, 'The admission store counts places for all gateways.');
    else
      log.warn({ cause: store.fault }, 'The admission store is out: this gateway keeps to its share of the engines.');
  };
  if (!store.up) tell();
  store.onTurn(tell);
}

/** The same on every gateway that has the same key. */
function keyed(secretFile: string | undefined): (tenant: string) => string {
  const secret = secretFile === undefined ? undefined : readFileSync(secretFile);
  const keys = new Map<string, string>();
  return (tenant) => {
    let key = keys.get(tenant);
    if (key === undefined) {
      const hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret);
      key = hash.update(tenant).digest('base64url').slice(0, 22);
      if (keys.size >= REMEMBERED) keys.clear();
      keys.set(tenant, key);
    }
    return key;
  };
}

/** The number of a pod of a stateful set, or one that its name comes to. */
export function indexOf(hostName: string, listen: string, gateways: number): number {
  const ordinal = /-(\d{1,4})$/.exec(hostName)?.[1];
  if (ordinal !== undefined && Number(ordinal) < gateways) return Number(ordinal);
  return createHash('sha256').update(`${hostName} ${listen}`).digest().readUInt32BE() % gateways;
}
