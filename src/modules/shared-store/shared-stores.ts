import type { Clock } from '../../common/clock.js';
import { RedisClient } from './redis-client.js';
import type { SharedStore } from './shared-store.js';

/** How long a start waits for a store that may be out. */
const FIRST_WAIT_MS = 1000;

/** The stores that this gateway shares with others: one connection to each address, whoever uses it. */
export class SharedStores {
  readonly #stores = new Map<string, RedisClient>();

  constructor(private readonly clock: Clock) {}

  /** The store at a redis:// URL, which is up by then unless it is out. */
  async at(url: string): Promise<SharedStore> {
    let store = this.#stores.get(url);
    if (store === undefined) {
      store = new RedisClient(url, this.clock);
      this.#stores.set(url, store);
    }
    await store.ready(FIRST_WAIT_MS);
    return store;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#stores.values()].map((store) => store.close()));
  }
}
