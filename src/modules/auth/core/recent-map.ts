/**
 * A map that keeps the entries that are asked for and forgets others: two generations, of which the older one goes when
 * the younger one is half of what may be kept. A hit costs one look-up.
 */
export class RecentMap<Value> {
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();
  readonly #half: number;

  constructor(maxEntries: number) {
    this.#half = Math.max(1, Math.floor(maxEntries / 2));
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: string): Value | undefined {
    const found = this.#young.get(key);
    return found === undefined ? this.#revived(key) : found;
  }

  set(key: string, value: Value): void {
    this.#old.delete(key);
    this.#young.set(key, value);
    if (this.#young.size < this.#half) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }

  #revived(key: string): Value | undefined {
    const found = this.#old.get(key);
    if (found !== undefined) this.set(key, found);
    return found;
  }
}
