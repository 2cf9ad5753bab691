import { controllerPolicy, type ControllerVariant } from './controller-gate.js';
import type { GateMaker, GateSite } from './gate.js';
import { Pool } from '../modules/admission/core/pool.js';
import type { Claim, ClaimStore, SharedLease } from '../modules/admission/core/shared-ledger.js';
import type { PoolSharing } from '../modules/admission/core/sharing.js';

const POLL_MS = 2_000;
const EXCHANGE_MS = 1_000;

/** What the gateways of one world have in common. */
class Commons {
  readonly pools = new Map<number, Pool>();
  readonly store = new MemoryStore();
}

/** An exact store in this process. */
class MemoryStore implements ClaimStore {
  private readonly held = new Map<string, SharedLease>();

  claim({ id, lease, endpointPlaces, poolPlaces, endpointKvTokens = Infinity, whenIdle }: Claim): boolean {
    let [all, here, kvTokens] = [lease.places, lease.places, lease.kvTokens];
    for (const other of this.held.values()) {
      all += other.places;
      if (other.endpoint !== lease.endpoint) continue;
      here += other.places;
      kvTokens += other.kvTokens;
    }
    const fits = all <= poolPlaces && here <= endpointPlaces && kvTokens <= endpointKvTokens;
    if (!fits && !(whenIdle && here === lease.places)) return false;
    this.held.set(id, lease);
    return true;
  }

  release(id: string): void {
    this.held.delete(id);
  }
}

/** By the clock of a world: worlds have nothing in common. */
const commonsOf = new WeakMap<object, Commons>();

function commonsAt({ clock }: GateSite): Commons {
  const commons = commonsOf.get(clock) ?? new Commons();
  commonsOf.set(clock, commons);
  return commons;
}

const sharingOf = ({ gateway, gateways, clock }: GateSite, told: boolean): PoolSharing => ({
  index: gateway,
  gateways,
  epoch: `g${gateway}`,
  readEveryMs: POLL_MS,
  wallTime: () => clock.now(),
  tenantKey: (tenant) => tenant,
  told: () => told,
  live: () => false,
});

/** Gateways that know nothing of each other and keep to their shares. */
export const shareOnly =
  (variant: ControllerVariant = {}): GateMaker =>
  (site) =>
    new Pool(controllerPolicy(site, variant), site.clock, site.random, sharingOf(site, false));

/** Gateways that read each other's ledgers once a second. */
export const peers =
  (variant: ControllerVariant = {}): GateMaker =>
  (site) => {
    const { pools } = commonsAt(site);
    const pool = new Pool(controllerPolicy(site, variant), site.clock, site.random, sharingOf(site, true));
    pools.set(site.gateway, pool);
    const readOthers = (): void => {
      for (const [gateway, other] of pools)
        if (gateway !== site.gateway) pool.remote(`g${gateway}`, other.shared(site.clock.now()));
      pool.afterNews();
      site.clock.after(EXCHANGE_MS, readOthers);
    };
    site.clock.after(site.random() * EXCHANGE_MS, readOthers);
    return pool;
  };

/** Gateways that hear of every change at once, and count every place in one store. */
export const exact =
  (variant: ControllerVariant = {}): GateMaker =>
  (site) => {
    const { pools, store } = commonsAt(site);
    let due = false;
    const tell = (): void => {
      due = false;
      const ledger = pool.shared(site.clock.now());
      for (const [gateway, other] of pools) if (gateway !== site.gateway) other.remote(`g${site.gateway}`, ledger);
    };
    const changed = (): void => {
      if (!due) site.clock.after(0, tell);
      due = true;
    };
    const sharing = { ...sharingOf(site, false), store, live: () => true, changed };
    const pool = new Pool(controllerPolicy(site, variant), site.clock, site.random, sharing);
    pools.set(site.gateway, pool);
    return pool;
  };
