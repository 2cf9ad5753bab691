/** The newest so many of what was added; what is older is forgotten. Adding costs one write. */
export class Newest<T> {
  readonly #kept: T[] = [];
  #next = 0;

  constructor(private readonly size: number) {}

  add(one: T): void {
    this.#kept[this.#next] = one;
    this.#next = (this.#next + 1) % this.size;
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
