/** Places for the newest so many; what is older is written over. */
export class Newest<T> {
  readonly #kept: T[] = [];
  #next = 0;

  constructor(
    private readonly size: number,
    private readonly make: () => T,
  ) {}

  /** The place of the next one: what it holds is forgotten. */
  next(): T {
    const one = (this.#kept[this.#next] ??= this.make());
    this.#next = (this.#next + 1) % this.size;
    return one;
  }

  /** From the newest to the oldest. */
  *[Symbol.iterator](): Generator<T> {
    const count = this.#kept.length;
    for (let back = 1; back <= count; back += 1) {
      const one = this.#kept[(this.#next - back + count) % count];
      if (one !== undefined) yield one;
    }
  }
}
