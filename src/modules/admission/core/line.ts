/** Gone ones that a short line keeps rather than be written anew. */
const KEPT = 16;

/** What can stand in a line: `waits` turns false when it leaves, wherever it stands. */
export interface Waiting {
  waits: boolean;
}

/**
 * Who came first goes first, and anyone may leave at any time. Who has left is passed over, and put away once there are
 * more of them than of those that wait: so a leave touches nothing but the one that leaves, and takes constant time.
 */
export class Line<T extends Waiting> {
  /** How many wait. */
  size = 0;
  #items: T[] = [];
  #start = 0;

  /** The first that waits; undefined: nobody does. */
  get head(): T | undefined {
    if (this.size === 0) return undefined;
    while (this.#items[this.#start]?.waits === false) this.#start += 1;
    return this.#items[this.#start];
  }

  push(item: T): void {
    this.#items.push(item);
    this.size += 1;
  }

  /** Puts one at the head, but for those of whom it is known that they stand before it. */
  unshift(item: T, isBefore: (one: T, other: T) => boolean = () => false): void {
    if (this.#start > 0) this.#start -= 1;
    else this.#items.unshift(item);
    let at = this.#start;
    for (;;) {
      const next = this.#items[at + 1];
      if (next === undefined || (next.waits && !isBefore(next, item))) break;
      this.#items[at] = next;
      at += 1;
    }
    this.#items[at] = item;
    this.size += 1;
  }

  /** One of them has left: its `waits` is false already. */
  left(): void {
    this.size -= 1;
    if (this.#items.length <= 2 * this.size + KEPT && this.size > 0) return;
    this.#items = this.size === 0 ? [] : [...this.values()];
    this.#start = 0;
  }

  /** Those that wait, in order. */
  *values(): Generator<T> {
    for (let at = this.#start; at < this.#items.length; at += 1) {
      const item = this.#items[at];
      if (item?.waits === true) yield item;
    }
  }
}
