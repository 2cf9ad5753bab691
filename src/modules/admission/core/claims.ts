import type { LeaseEntry } from './endpoint-ledger.js';
import type { Holding } from './held-lease.js';
import type { Claim, ClaimStore } from './shared-ledger.js';
import type { Waiter } from './waiter.js';

/** What comes of a claim that was not answered at once. */
export interface ClaimHooks {
  claimed(holding: Holding): void;
  notClaimed(holding: Holding): void;
}

/** Places that are counted here already, while the store is asked whether they are there. */
export class Claims {
  readonly #asked = new Map<Waiter, Holding>();
  #made = 0;

  constructor(
    private readonly store: ClaimStore,
    private readonly epoch: string,
    private readonly hooks: ClaimHooks,
  ) {}

  /** No claim is on its way. */
  get isEmpty(): boolean {
    return this.#asked.size === 0;
  }

  /** What has been asked for and not been confirmed. */
  entries(): ReadonlySet<LeaseEntry> {
    return new Set(Array.from(this.#asked.values(), ({ entry }) => entry));
  }

  /** A name that no other claim has, on any gateway. */
  nextId(): string {
    this.#made += 1;
    return `${this.epoch}.${this.#made}`;
  }

  /** The answer, or undefined: a hook is called when it comes. */
  ask(holding: Holding, claim: Claim): boolean | undefined {
    const answer = this.store.claim(claim);
    if (typeof answer === 'boolean') return answer;
    this.#asked.set(holding.waiter, holding);
    void answer.then((granted) => this.#answered(holding, claim.id, granted));
    return undefined;
  }

  release({ claimId }: Holding): void {
    if (claimId !== undefined) this.store.release(claimId);
  }

  /** Nobody wants the place any more; undefined: nobody had asked for one. */
  abandon(waiter: Waiter): Holding | undefined {
    const holding = this.#asked.get(waiter);
    if (holding === undefined) return undefined;
    this.#asked.delete(waiter);
    this.release(holding);
    return holding;
  }

  /** The store has gone. What it was asked last it may have granted or not: nobody is let in upon that. */
  giveUp(): void {
    for (const waiter of this.waiters()) {
      const holding = this.abandon(waiter);
      if (holding !== undefined) this.hooks.notClaimed(holding);
    }
  }

  /** A copy. */
  waiters(): readonly Waiter[] {
    return [...this.#asked.keys()];
  }

  #answered(holding: Holding, id: string, granted: boolean): void {
    if (this.#asked.get(holding.waiter) !== holding) {
      // Given up meanwhile, and perhaps before the store had heard of it.
      if (granted) this.store.release(id);
      return;
    }
    this.#asked.delete(holding.waiter);
    if (granted) this.hooks.claimed(holding);
    else this.hooks.notClaimed(holding);
  }
}
