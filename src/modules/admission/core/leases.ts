/** What `Leases` keeps in each of its entries. */
export interface Leased {
  readonly places: number;
  /** Where it stands in the list. */
  at: number;
  /** So new that the engine's gauges may not show it. */
  unseen: boolean;
}

/**
 * The requests at an endpoint, in no order. A Set, whose tables follow one another with every request, takes the request
 * with it into the old generation.
 */
export class Leases<Entry extends Leased> {
  /** Places of the unseen ones. */
  unseenPlaces = 0;
  readonly #entries: Entry[] = [];

  get size(): number {
    return this.#entries.length;
  }

  [Symbol.iterator](): ArrayIterator<Entry> {
    return this.#entries.values();
  }

  has(entry: Entry): boolean {
    return this.#entries[entry.at] === entry;
  }

  /** An entry that is in already must not come again. */
  add(entry: Entry): void {
    entry.at = this.#entries.push(entry) - 1;
  }

  /** The entry must be in. */
  delete(entry: Entry): void {
    this.see(entry);
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#entries[entry.at] = last;
    last.at = entry.at;
  }

  /** The gauges may not show it yet. The entry must be in. */
  hide(entry: Entry): void {
    if (entry.unseen) return;
    entry.unseen = true;
    this.unseenPlaces += entry.places;
  }

  /** They do. */
  see(entry: Entry): void {
    if (!entry.unseen) return;
    entry.unseen = false;
    this.unseenPlaces -= entry.places;
  }

  seeAll(): void {
    for (const entry of this.#entries) entry.unseen = false;
    this.unseenPlaces = 0;
  }
}
