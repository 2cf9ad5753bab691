/** More of them before one answer than this are passed on, and end the connection. */
export const MAX_CONTINUES = 10;
/** An informational head that is longer is passed on as it comes. */
export const MAX_HELD_BYTES = 8 * 1024;

/** What every informational head of HTTP/1.1 begins with, and the first byte by which another one differs. */
const BEGINNING = 'HTTP/1.1 1';
const STATUS_AT = BEGINNING.length - 1;
const ONE = 0x31;
/** One whole informational head behind which another one follows, and nothing that a parser could cut elsewhere. */
const INFORMATIONAL = /HTTP\/1\.1 1(?!01)(\d\d)(?: [^\r\n]*)?\r\n(?:[^\r\n]+\r\n)*\r\n/y;
/** The end of a head, or what no head has. */
const END_OR_FAULT = /\r\n\r\n|[^\r]\n|\r[^\n]/;
const NOTHING = Buffer.alloc(0);

/**
 * Takes each `100 Continue` out of what an engine sends before its answer. A client must bear one that it has not asked
 * for (RFC 9110 section 15.2), and undici ends the connection instead. All other bytes stay as they are: other
 * informational heads, answers, and whatever comes behind the first head of an answer. One filter belongs to one
 * connection, on which one request at a time is under way.
 */
export class ContinueFilter {
  #looking = false;
  #dropped = 0;
  /** The beginning of an informational head. */
  #held: Buffer = NOTHING;

  /** The next head may be informational. */
  get looking(): boolean {
    return this.#looking;
  }

  /** A request goes out: what comes from now on belongs to its answer. */
  expectAnswer(): void {
    this.#looking = true;
    this.#dropped = 0;
    this.#held = NOTHING;
  }

  /** What is to be read of these bytes; undefined: nothing yet. */
  pass(bytes: Buffer): Buffer | undefined {
    if (!this.#looking) return bytes;
    if (this.#held.length > 0) return this.#sift(Buffer.concat([this.#held, bytes]));
    if (bytes.length <= STATUS_AT || bytes[STATUS_AT] === ONE) return this.#sift(bytes);
    this.#looking = false;
    return bytes;
  }

  #sift(bytes: Buffer): Buffer | undefined {
    const text = bytes.toString('latin1');
    const kept: Buffer[] = [];
    let at = 0;
    INFORMATIONAL.lastIndex = 0;
    for (let found = INFORMATIONAL.exec(text); found !== null; found = INFORMATIONAL.exec(text)) {
      if (!this.#isDropped(found[1])) kept.push(bytes.subarray(at, INFORMATIONAL.lastIndex));
      at = INFORMATIONAL.lastIndex;
    }
    const rest = bytes.subarray(at);
    this.#looking = mayBecomeInformational(text.slice(at));
    this.#held = this.#looking ? rest : NOTHING;
    if (!this.#looking) kept.push(rest);
    return kept.length > 1 ? Buffer.concat(kept) : kept[0];
  }

  #isDropped(status: string | undefined): boolean {
    if (status !== '00' || this.#dropped === MAX_CONTINUES) return false;
    this.#dropped += 1;
    return true;
  }
}

const mayBecomeInformational = (text: string): boolean =>
  BEGINNING.startsWith(text.slice(0, BEGINNING.length)) && text.length <= MAX_HELD_BYTES && !END_OR_FAULT.test(text);
