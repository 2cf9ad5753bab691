import type { EndpointLedger, LeaseEntry } from './endpoint-ledger.js';
import type { Lease, PoolListener, Ticket } from './pool-types.js';
import { virtualCost } from './virtual-cost.js';
import type { Waiter } from './waiter.js';

/** A cancelled or failed request gives back this much of what it was charged, at most. */
const MOST_REFUND = 0.9;

/** What the engine has done for a request. */
export interface Service {
  readonly tokens: number;
  /** What its tenant is charged for that besides, in token equivalents; negative: given back. */
  readonly adjustment: number;
}

/** It was never begun: its tenant gets everything back. */
export const nothingFor = ({ charged }: Holding): Service => ({ tokens: 0, adjustment: -charged });

/** What a lease asks of its pool. */
export interface LeaseHooks {
  now(): number;
  firstToken(held: Holding): void;
  release(held: Holding, service: Service): void;
  refused(held: Holding, listener: PoolListener): Ticket | undefined;
}

/** Who holds a place, and where. */
export interface Holding {
  readonly waiter: Waiter;
  readonly ledger: EndpointLedger;
  readonly entry: LeaseEntry;
  /** What the tenant was charged at the grant, in token equivalents. */
  readonly charged: number;
  /** What the store knows it by; absent: there is none. */
  readonly claimId?: string;
}

/** A place on an endpoint, as its holder sees it. */
export class HeldLease implements Lease {
  readonly waitedMs: number;
  #held = true;
  /** As the engine counted them; undefined: it has not. */
  #promptTokens: number | undefined;
  #completionTokens = 0;

  constructor(
    private readonly pool: LeaseHooks,
    private readonly holding: Holding,
  ) {
    this.waitedMs = holding.entry.grantedAt - holding.waiter.since;
  }

  get endpoint(): string {
    return this.holding.ledger.id;
  }

  firstToken(): void {
    if (this.#held) this.pool.firstToken(this.holding);
  }

  settle(promptTokens: number, completionTokens: number): void {
    this.#promptTokens = promptTokens;
    this.#completionTokens = completionTokens;
  }

  release(): void {
    if (!this.#held) return;
    this.#held = false;
    const { charged } = this.holding;
    const adjustment = Math.max(this.#cost() - charged, -MOST_REFUND * charged);
    this.pool.release(this.holding, { tokens: this.#servedTokens(), adjustment });
  }

  refused(listener: PoolListener): Ticket | undefined {
    if (!this.#held) return undefined;
    this.#held = false;
    return this.pool.refused(this.holding, listener);
  }

  /** In token equivalents. Nobody counted: all that was charged, or the part of the prompt that was computed. */
  #cost(): number {
    const { entry, charged } = this.holding;
    if (this.#promptTokens !== undefined) return virtualCost(this.#promptTokens, this.#completionTokens);
    return entry.firstTokenAt === undefined ? this.#computed() * virtualCost(entry.promptTokens, 0) : charged;
  }

  /** Nobody counted: the part of the prompt that was computed, as it was estimated, and nothing of an output. */
  #servedTokens(): number {
    if (this.#promptTokens !== undefined) return this.#promptTokens + this.#completionTokens;
    return Math.round(this.#computed() * this.holding.entry.promptTokens);
  }

  /** How much of its prefill is done, 0 to 1. */
  #computed(): number {
    const { firstTokenAt, estimateMs, grantedAt } = this.holding.entry;
    if (firstTokenAt !== undefined || estimateMs === 0) return 1;
    return Math.min(1, (this.pool.now() - grantedAt) / estimateMs);
  }
}

/** What the endpoint's ledger notes of a request that is granted now. */
export function entryOf({ request, band, kind, estimateMs }: Waiter, kvTokens: number, now: number): LeaseEntry {
  const { places, promptTokens, cachedTokens, stretchable } = request;
  const uncachedTokens = Math.max(0, promptTokens - cachedTokens);
  const work = { places, estimateMs, promptTokens, uncachedTokens, kvTokens };
  const running = { grantedAt: now, visible: stretchable, firstTokenAt: undefined, remote: false };
  return { band, kind, ...work, ...running, at: 0, unseen: false };
}
