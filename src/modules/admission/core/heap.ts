/** What a heap holds: it notes in each item where that stands, so that any of them can be moved or taken out. */
export interface HeapItem {
  /** Position in the heap; -1: in none. */
  heapIndex: number;
}

/** A binary heap whose items know their places: `push`, `pop`, `update` and `remove` take O(log n). */
export class Heap<T extends HeapItem> {
  readonly #items: T[] = [];

  constructor(private readonly before: (a: T, b: T) => boolean) {}

  get size(): number {
    return this.#items.length;
  }

  /** The first in order; undefined: there is none. */
  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    item.heapIndex = this.#items.length;
    this.#items.push(item);
    this.#up(item);
  }

  /** Takes an item out, wherever it stands. One that is in no heap is ignored. */
  remove(item: T): void {
    const index = item.heapIndex;
    if (index < 0) return;
    item.heapIndex = -1;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#place(last, index);
    this.update(last);
  }

  /** Puts an item right whose order has changed. */
  update(item: T): void {
    if (item.heapIndex < 0) return;
    this.#up(item);
    this.#down(item);
  }

  /** All items, in no particular order. */
  values(): readonly T[] {
    return this.#items;
  }

  #place(item: T, index: number): void {
    this.#items[index] = item;
    item.heapIndex = index;
  }

  #up(item: T): void {
    let index = item.heapIndex;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = this.#items[above];
      if (parent === undefined || !this.before(item, parent)) break;
      this.#place(parent, index);
      index = above;
    }
    this.#place(item, index);
  }

  #down(item: T): void {
    let index = item.heapIndex;
    for (;;) {
      const child = this.#firstChild(index);
      if (child === undefined || !this.before(child, item)) break;
      const below = child.heapIndex;
      this.#place(child, index);
      index = below;
    }
    this.#place(item, index);
  }

  #firstChild(index: number): T | undefined {
    const left = this.#items[2 * index + 1];
    const right = this.#items[2 * index + 2];
    return right !== undefined && left !== undefined && this.before(right, left) ? right : left;
  }
}
