import type { Clock } from '../../common/clock.js';
import type { RedisClient } from './redis-client.js';
import type { SharedStore } from './shared-store.js';

/** How long a start waits for a store that may be out. */
const FIRST_WAIT_MS = 1000;

/** The stores that this gateway shares with others: one connection to each address, whoever uses it. */
export class SharedStores {
  readonly #stores = new Map<string, Promise<RedisClient>>();

  constructor(private readonly clock: Clock) {}

  /** The store at a redis:// URL, which is up by then unless it is out. */
  async at(url: string): Promise<SharedStore> {
    let opening = this.#stores.get(url);
    if (opening === undefined) {
      opening = this.#open(url);
      this.#stores.set(url, opening);
    }
    const store = await opening;
    await store.ready(FIRST_WAIT_MS);
    return store;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#stores.values()].map(async (opening) => (await opening).close()));
  }

  /** Who shares nothing is not to carry a client for it in memory. */
  async #open(url: string): Promise<RedisClient> {
    const { RedisClient } = await import('./redis-client.js');
    return new RedisClient(url, this.clock);
  }
}
