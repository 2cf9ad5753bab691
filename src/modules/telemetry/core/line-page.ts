const PAGE_BYTES = 65_536;
/** Of a UTF-16 unit in UTF-8, at most. */
const WIDEST_UNIT_BYTES = 3;

/**
 * Lines until they are written, as bytes. A line that was put together from pieces is a tree of them, ten times its size:
 * a hundred such outlive two looks through the young generation, are copied each time, and end as garbage in the old one.
 */
export class LinePage {
  readonly #bytes = Buffer.allocUnsafeSlow(PAGE_BYTES);
  #used = 0;

  /** False: there is no room for it. */
  add(line: string): boolean {
    if (line.length * WIDEST_UNIT_BYTES > PAGE_BYTES - this.#used) return false;
    this.#used += this.#bytes.write(line, this.#used);
    return true;
  }

  /** All lines in a row, a copy; the page is empty then. */
  take(): Buffer {
    const lines = Buffer.from(this.#bytes.subarray(0, this.#used));
    this.#used = 0;
    return lines;
  }
}
