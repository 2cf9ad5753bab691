import type { Clock } from '../../common/clock.js';
import type { SharedStore } from '../shared-store/shared-store.js';
import type { PoolSharing } from './core/sharing.js';
import { LedgerBus, type LedgerSource } from './ledger-bus.js';
import { SharedClaims } from './shared-claims.js';

/** How this gateway shares while there is no store to count. */
export type ShareWithoutStore = Omit<PoolSharing, 'store' | 'changed'>;

/** A pool that hears of the others. */
export interface SharingPool extends LedgerSource {
  sharingChanged(): void;
}

/**
 * One pool whose places are counted in a store for all gateways, and whose gateways tell each other through it what they
 * hold as soon as that changes. While the store is out this gateway shares as it would without one.
 */
export class ExactSharing implements PoolSharing {
  readonly index: number;
  readonly gateways: number;
  readonly epoch: string;
  readonly readEveryMs: number;
  readonly store: SharedClaims;
  readonly #bus: LedgerBus;

  constructor(
    private readonly shared: SharedStore,
    pool: string,
    private readonly otherwise: ShareWithoutStore,
    clock: Clock,
  ) {
    const { index, gateways, epoch, readEveryMs } = otherwise;
    this.index = index;
    this.gateways = gateways;
    this.epoch = epoch;
    this.readEveryMs = readEveryMs;
    this.store = new SharedClaims(shared, pool, clock);
    this.#bus = new LedgerBus(shared, pool, epoch, clock);
  }

  wallTime(): number {
    return this.otherwise.wallTime();
  }

  tenantKey(tenant: string): string {
    return this.otherwise.tenantKey(tenant);
  }

  live(): boolean {
    return this.shared.up || this.otherwise.live();
  }

  changed(): void {
    this.#bus.changed();
  }

  /** The pool that this was made for: it hears of the others from now on. */
  serve(pool: SharingPool): void {
    this.#bus.serve(pool);
    this.shared.onTurn(() => {
      // Whoever has come back tells of itself first: the others have taken it for gone.
      this.changed();
      pool.sharingChanged();
    });
  }

  close(): void {
    this.#bus.close();
  }
}
