import type { Clock, Timer } from '../../common/clock.js';
import type { SharedStore } from '../shared-store/shared-store.js';
import { sharedLedgerFrom } from './core/read-shared-ledger.js';
import type { SharedLedger } from './core/shared-ledger.js';

/** So often at least everyone says that it is there. */
const BEAT_MS = 1000;
/** Who has said nothing for so long is gone. */
const SILENT_MS = 3000;
/** Changes within this time are told together. */
const COALESCE_MS = 1;

/** A pool, as the bus sees it. */
export interface LedgerSource {
  shared(now: number): SharedLedger | undefined;
  remote(peer: string, ledger: SharedLedger | undefined): void;
}

/** Tells the other gateways of a pool what this one holds whenever that changes, and hears the same of them. */
export class LedgerBus {
  readonly #channel: string;
  readonly #heardAt = new Map<string, number>();
  #pool: LedgerSource | undefined;
  #beat: Timer | undefined;
  #pending: Timer | undefined;

  constructor(
    private readonly store: SharedStore,
    pool: string,
    /** This gateway's own name: what it hears of itself is no news. */
    private readonly epoch: string,
    private readonly clock: Clock,
  ) {
    this.#channel = `llmgw:ledgers:{${pool}}`;
  }

  /** From now on, until it is closed. */
  serve(pool: LedgerSource): void {
    this.#pool = pool;
    this.store.subscribe(this.#channel, (message) => this.#heard(message));
    this.#beats();
  }

  /** The pool's leases or waits are others than they were. */
  changed(): void {
    if (this.#pool !== undefined) this.#pending ??= this.clock.after(COALESCE_MS, () => this.#tell());
  }

  close(): void {
    this.#pool = undefined;
    this.#pending?.cancel();
    this.#beat?.cancel();
  }

  #tell(): void {
    this.#pending = undefined;
    const ledger = this.#pool?.shared(this.clock.now());
    if (ledger !== undefined) this.store.publish(this.#channel, JSON.stringify(ledger));
  }

  #heard(message: string): void {
    const ledger = sharedLedgerFrom(message);
    if (ledger === undefined || ledger.epoch === this.epoch) return;
    this.#heardAt.set(ledger.epoch, this.clock.now());
    this.#pool?.remote(ledger.epoch, ledger);
  }

  #beats(): void {
    this.#beat = this.clock.after(BEAT_MS, () => this.#beats());
    this.changed();
    for (const [peer, at] of this.#heardAt) {
      if (this.clock.now() - at < SILENT_MS) continue;
      this.#heardAt.delete(peer);
      this.#pool?.remote(peer, undefined);
    }
  }
}
