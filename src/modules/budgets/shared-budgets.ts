import type { OperatorLog } from '../../common/operator-log.js';
import type { SharedStore, StoreScript } from '../shared-store/shared-store.js';
import { CORRECT, RESERVE } from './core/budget-scripts.js';
import { fieldsOf, refusalOf, type Limits, type Refusal } from './core/limits.js';
import { SLICES, sliceMsOf } from './core/tenant-window.js';
import type { Reservation } from './reservation.js';

const RESERVE_SCRIPT: StoreScript = { name: 'llmgwBudgetReserve', source: RESERVE };
const CORRECT_SCRIPT: StoreScript = { name: 'llmgwBudgetCorrect', source: CORRECT };

/** Where the store keeps a reservation, which it has to be told to find it again. */
interface Place {
  readonly key: string;
  readonly slice: number;
  readonly mark: string;
}

/** What has been spent through all gateways together, kept in a store that they share. */
export class SharedBudgets {
  readonly #sliceMs: number;

  constructor(
    private readonly store: SharedStore,
    private readonly windowMs: number,
  ) {
    this.#sliceMs = sliceMsOf(windowMs);
  }

  get up(): boolean {
    return this.store.up;
  }

  /** Sets one request and so many tokens aside, or says why that cannot be; undefined: the store gives no answer. */
  async reserve(tenant: string, limits: Limits, tokens: number): Promise<Reservation | Refusal | undefined> {
    const key = `llmgw:budget:{${tenant}}:${this.windowMs}`;
    const args = [this.#sliceMs, SLICES, limits.requests, limits.tokens, tokens, this.store.deadlineMs];
    const taken = (reply: unknown): Reservation | Refusal | undefined => this.#taken(reply, key, limits, tokens);
    const reply = await this.store.run(RESERVE_SCRIPT, key, args, (late) => {
      // Nobody waits for it any more, and what it took has been taken elsewhere.
      const found = taken(late);
      if (found !== undefined && 'settle' in found) found[Symbol.dispose]();
    });
    return taken(reply);
  }

  #taken(reply: unknown, key: string, limits: Limits, tokens: number): Reservation | Refusal | undefined {
    const [verdict, first, second, requests, left]: readonly unknown[] = listFrom(reply);
    const rest = { requests: Number(requests), tokens: Number(left) };
    if (verdict === 0) return refusalOf({ requests: Number(first), tokens: Number(second) }, rest);
    if (verdict !== 1) return undefined;
    const fields = (): readonly string[] => fieldsOf(limits, rest, this.windowMs);
    const place = { key, slice: Number(first), mark: String(second) };
    return new SharedReservation((...change) => this.#correct(place, ...change), fields, tokens);
  }

  #correct({ key, slice, mark }: Place, requests: number, tokens: number): void {
    if (requests === 0 && tokens === 0) return;
    this.store.post(CORRECT_SCRIPT, key, [this.#sliceMs, SLICES, slice, mark, requests, tokens]);
  }
}

class SharedReservation implements Reservation {
  #settled = false;

  constructor(
    private readonly correct: (requests: number, tokens: number) => void,
    private readonly told: () => readonly string[],
    private readonly tokens: number,
  ) {}

  get fields(): readonly string[] {
    return this.told();
  }

  settle(tokens: number): void {
    this.#settle(0, tokens - this.tokens);
  }

  [Symbol.dispose](): void {
    this.#settle(-1, -this.tokens);
  }

  #settle(requests: number, tokens: number): void {
    if (this.#settled) return;
    this.#settled = true;
    this.correct(requests, tokens);
  }
}

const listFrom = (reply: unknown): readonly unknown[] => (Array.isArray(reply) ? reply : []);

/** Tells the operator when the store is out, and when it is back. */
export function watchStore(store: SharedStore, log: OperatorLog): void {
  const tell = (): void => {
    if (store.up) log.info({}, 'the budget store is back: budgets are counted together');
    else log.warn({ cause: store.fault }, 'the budget store is out: each replica grants its share of the budgets');
  };
  store.onTurn(tell);
  if (!store.up) tell();
}
