import type { Clock, Timer } from '../../common/clock.js';
import type { SharedStore } from '../shared-store/shared-store.js';
import type { PoolSharing } from './core/sharing.js';
import { LedgerBus, type LedgerSource } from './ledger-bus.js';
import { SharedClaims } from './shared-claims.js';

/**
 * A store that is back may have forgotten everything: for so long gateways go on to keep to their shares, until all of
 * them have told it what they have.
 */
const SETTLE_MS = 1500;

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
  /** It is asked before that, and believed as far as it knows of more than this gateway does. */
  #countsFrom = -Infinity;
  #settling: Timer | undefined;

  constructor(
    private readonly shared: SharedStore,
    pool: string,
    private readonly otherwise: ShareWithoutStore,
    private readonly clock: Clock,
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

  told(): boolean {
    return this.otherwise.told();
  }

  live(): boolean {
    return (this.shared.up && this.clock.now() >= this.#countsFrom) || this.otherwise.live();
  }

  changed(): void {
    this.#bus.changed();
  }

  /** The pool that this was made for: it hears of the others from now on. */
  serve(pool: SharingPool): void {
    this.#bus.serve(pool);
    this.shared.onTurn(() => this.#turned(pool));
  }

  close(): void {
    this.#settling?.cancel();
    this.#bus.close();
  }

  #turned(pool: SharingPool): void {
    this.#settling?.cancel();
    if (this.shared.up) {
      this.#countsFrom = this.clock.now() + SETTLE_MS;
      this.#settling = this.clock.after(SETTLE_MS, () => pool.sharingChanged());
      // Whoever has come back tells of itself first: the others have taken it for gone.
      this.changed();
    }
    pool.sharingChanged();
  }
}
