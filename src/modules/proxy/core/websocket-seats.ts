import { GatewayProblem } from '../../../common/problem/gateway-problem.js';

const RETRY_AFTER_SECONDS = 5;

/** Counts the open sockets of each tenant on each prefix. */
export class SocketSeats {
  readonly #taken = new Map<string, number>();

  /** A seat until it is disposed of. Throws where the tenant has `limit` already; undefined: as many as there are slots. */
  take(prefix: string, tenant: string, limit: number | undefined): Disposable {
    const key = `${prefix} ${tenant}`;
    const taken = this.#taken.get(key) ?? 0;
    if (limit !== undefined && taken >= limit) {
      throw new GatewayProblem('budget-exhausted', {
        detail: `${limit} sockets are open on ${prefix}, as many as one caller may have (rate limit).`,
        extensions: { limit },
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    this.#taken.set(key, taken + 1);
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#giveBack(key);
        held = false;
      },
    };
  }

  /** Tenants with at least one seat. */
  get size(): number {
    return this.#taken.size;
  }

  #giveBack(key: string): void {
    const left = (this.#taken.get(key) ?? 0) - 1;
    if (left > 0) this.#taken.set(key, left);
    else this.#taken.delete(key);
  }
}
