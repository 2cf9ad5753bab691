/** Entries with the sum of their places, which every request asks for. */
export class Places<Entry extends { readonly places: number }> {
  places = 0;
  readonly #entries = new Set<Entry>();

  /** An entry that is in already must not come again. */
  add(entry: Entry): void {
    this.#entries.add(entry);
    this.places += entry.places;
  }

  has(entry: Entry): boolean {
    return this.#entries.has(entry);
  }

  /** false: it was not in. */
  delete(entry: Entry): boolean {
    if (!this.#entries.delete(entry)) return false;
    this.places -= entry.places;
    return true;
  }

  clear(): void {
    this.#entries.clear();
    this.places = 0;
  }
}
