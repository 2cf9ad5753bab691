import { endianness } from 'node:os';
import { invalidBody } from './body-problems.js';
import { TextStop } from './text-stop.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;

const LITTLE_ENDIAN = endianness() === 'LE';

/** How deep a body may nest, its own object counted. */
export const MAX_DEPTH = 512;

/** A longer string is a text, and left to JSON.parse. */
const NAME_BYTES = 256;

/** So much of a string is read here: what is longer is worth laying out for `TextStop`. */
const NEAR_BYTES = 64;
const TEXT_STOP = TextStop.make();
let bodies = 0;

/** 1: a byte that may stand in a string as it is; 0: the quote, the backslash, control characters. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
);
const SPACE = Uint8Array.from({ length: 256 }, (_, byte) => ([0x20, 0x0a, 0x0d, 0x09].includes(byte) ? 1 : 0));
/** What may stand behind a backslash by itself. */
const SHORT_ESCAPES = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) SHORT_ESCAPES[byte] = 1;
const LITERALS = new Map([
  [0x74, Buffer.from('true')],
  [0x66, Buffer.from('false')],
  [0x6e, Buffer.from('null')],
]);
/** The closing bytes that are awaited. Reading is synchronous, so one stack serves every body. */
const awaited = new Uint8Array(MAX_DEPTH + 1);

/** Which byte of a word, in the order of the memory, has the first high bit. */
const firstByteOf = (bits: number): number =>
  (bits & 0x8080) !== 0 ? ((bits & 0x80) !== 0 ? 0 : 1) : (bits & 0x800000) !== 0 ? 2 : 3;

/** Whether a byte is a decimal digit. */
export const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE;
const isHex = (byte: number): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

/**
 * Reads JSON where it lies. Every method takes the index at which something must begin and returns the index behind it,
 * or throws `invalid-body`: RFC 8259 to the letter, in one pass, without recursion. The bytes must be UTF-8.
 */
export class JsonBytes {
  readonly bytes: Buffer;
  private readonly length: number;
  /** The same memory as whole words, so that strings are read four bytes at a time; none where they are the other way. */
  private readonly words: Int32Array;
  /** How many bytes of the first word lie before the body. */
  private readonly lead: number;
  private readonly body = ++bodies;

  /** `textStop`: null where there is none. */
  constructor(
    bytes: Uint8Array,
    private readonly textStop: TextStop | null = TEXT_STOP,
  ) {
    this.bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.length = bytes.byteLength;
    this.lead = bytes.byteOffset & 3;
    const words = LITTLE_ENDIAN ? (this.lead + bytes.byteLength) >> 2 : 0;
    this.words = new Int32Array(bytes.buffer, bytes.byteOffset - this.lead, words);
  }

  /**
   * The byte there. 0 behind the end, which JSON allows nowhere, so that no reader has to test for the end. The index is
   * compared first: one read out of bounds would slow every later read of the process down.
   */
  byte(at: number): number {
    return at < this.length ? (this.bytes[at] ?? 0) : 0;
  }

  /** The text of the string that stands there, quotes included in the range. */
  text(start: number, end: number): string {
    if (end - start <= NAME_BYTES && !this.hasEscape(start, end))
      return this.bytes.toString('utf8', start + 1, end - 1);
    return JSON.parse(this.bytes.toString('utf8', start, end)) as string;
  }

  /** Whether the string that stands there says `ascii`, written with escapes or without. */
  says(start: number, end: number, ascii: string): boolean {
    const length = end - start - 2;
    if (length !== ascii.length) return length > ascii.length && this.saysEscaped(start, end, ascii);
    for (let index = 0; index < length; index++) {
      if (this.byte(start + 1 + index) !== ascii.charCodeAt(index)) return false;
    }
    return true;
  }

  private saysEscaped(start: number, end: number, ascii: string): boolean {
    if (end - start - 2 > 6 * ascii.length) return false;
    return this.hasEscape(start, end) && this.text(start, end) === ascii;
  }

  private hasEscape(start: number, end: number): boolean {
    for (let at = start + 1; at < end - 1; at++) if (this.byte(at) === BACKSLASH) return true;
    return false;
  }

  isSpace(at: number): boolean {
    return SPACE[this.byte(at)] !== 0;
  }
  isComma(at: number): boolean {
    return this.byte(at) === COMMA;
  }
  isNull(at: number): boolean {
    return this.byte(at) === 0x6e;
  }
  isString(at: number): boolean {
    return this.byte(at) === QUOTE;
  }
  isObject(at: number): boolean {
    return this.byte(at) === OPEN_BRACE;
  }
  isArray(at: number): boolean {
    return this.byte(at) === OPEN_BRACKET;
  }

  skipSpace(start: number): number {
    const { bytes, length } = this;
    let at = start;
    while (at < length && SPACE[bytes[at] ?? 0] !== 0) at++;
    return at;
  }

  /** The error of a body that has something else than `expected` there. */
  fault(at: number, expected: string): Error {
    const place = at < this.length ? `at byte ${at}` : `at its end, byte ${at},`;
    return invalidBody(`is not valid JSON: ${place} ${expected} was expected`);
  }

  /** `depth` is that of what the value stands in. */
  endOfValue(start: number, depth: number): number {
    const byte = this.byte(start);
    if (byte === QUOTE) return this.endOfString(start);
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return this.endOfContainer(start, depth);
    return this.endOfScalar(start);
  }

  private endOfContainer(start: number, depth: number): number {
    let at = start;
    let open = 0;
    for (;;) {
      let byte = this.byte(at);
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (depth + ++open > MAX_DEPTH) throw invalidBody(`nests deeper than ${MAX_DEPTH} levels at byte ${at}`);
        // Both brackets are followed by their closing ones at a distance of 2.
        awaited[open] = byte + 2;
        at = this.skipSpace(at + 1);
        if (this.byte(at) !== byte + 2) {
          if (byte === OPEN_BRACE) at = this.startOfValue(this.endOfKey(at));
          continue;
        }
      } else {
        at = byte === QUOTE ? this.endOfString(at) : this.endOfScalar(at);
        at = this.skipSpace(at);
      }
      while ((byte = this.byte(at)) !== COMMA) {
        if (byte !== awaited[open]) throw this.unclosed(at, open);
        if (--open === 0) return at + 1;
        at = this.skipSpace(at + 1);
      }
      at = this.skipSpace(at + 1);
      if (awaited[open] === CLOSE_BRACE) at = this.startOfValue(this.endOfKey(at));
    }
  }

  private unclosed(at: number, open: number): Error {
    return this.fault(at, awaited[open] === CLOSE_BRACE ? 'a comma or "}"' : 'a comma or "]"');
  }

  endOfKey(start: number): number {
    if (this.byte(start) !== QUOTE) throw this.fault(start, 'a name in double quotes');
    return this.endOfString(start);
  }

  /** Index of the value whose key ends at `keyEnd`. */
  startOfValue(keyEnd: number): number {
    const at = this.skipSpace(keyEnd);
    if (this.byte(at) !== COLON) throw this.fault(at, 'a colon');
    return this.skipSpace(at + 1);
  }

  private endOfString(start: number): number {
    const { bytes, length, textStop } = this;
    let at = start + 1;
    let far = textStop === null ? length : at + NEAR_BYTES;
    for (;;) {
      at = this.skipPlain(at, far);
      if (at >= far && textStop !== null) {
        at = textStop.find(bytes, at, this.body);
        far = at + NEAR_BYTES;
      }
      const byte = at < length ? (bytes[at] ?? 0) : 0;
      if (byte === QUOTE) return at + 1;
      if (byte !== BACKSLASH) throw this.fault(at, 'the rest of a string, with control characters escaped,');
      at = this.endOfEscape(at);
    }
  }

  /** Index of the first byte that is a quote, a backslash, a control character, the end, or `far` and not much farther. */
  private skipPlain(start: number, far: number): number {
    const { words, lead } = this;
    const end = Math.min(words.length, (far + lead + 3) >> 2);
    let word = (start + lead) >> 2;
    if (word < end) {
      // Ones in place of the bytes that lie before the start: they stop nothing.
      let four = (words[word] ?? 0) | ((1 << (((start + lead) & 3) << 3)) - 1);
      for (;;) {
        // The high bit of a byte becomes 1 where the byte is below 0x20 or the quote (left), or the backslash (right);
        // a borrow may set it falsely, but only behind a true one, and bytes from 0x80 up are masked out.
        const stops = (((four ^ 0x02020202) - 0x21212121) | ((four ^ 0x5c5c5c5c) - 0x01010101)) & ~four & 0x80808080;
        if (stops !== 0) return (word << 2) - lead + firstByteOf(stops);
        if (++word === end) break;
        four = words[word] ?? 0;
      }
    }
    const at = Math.max(start, (end << 2) - lead);
    return at >= far ? at : this.skipPlainBytes(at);
  }

  private skipPlainBytes(start: number): number {
    const { bytes, length } = this;
    let at = start;
    while (at < length && PLAIN[bytes[at] ?? 0] !== 0) at++;
    return at;
  }

  private endOfEscape(backslash: number): number {
    const byte = this.byte(backslash + 1);
    if (SHORT_ESCAPES[byte] === 1) return backslash + 2;
    if (byte !== 0x75) throw this.fault(backslash + 1, 'a valid escape');
    for (let at = backslash + 2; at < backslash + 6; at++) {
      if (!isHex(this.byte(at))) throw this.fault(at, 'a hexadecimal digit');
    }
    return backslash + 6;
  }

  private endOfScalar(start: number): number {
    const byte = this.byte(start);
    if (isDigit(byte) || byte === MINUS) return this.endOfNumber(start);
    const literal = LITERALS.get(byte);
    if (literal === undefined) throw this.fault(start, 'a value');
    const end = start + literal.length;
    for (let at = start + 1; at < end; at++) {
      if (this.byte(at) !== literal[at - start]) throw this.fault(at, `the rest of ${literal.toString()}`);
    }
    return end;
  }

  private endOfNumber(start: number): number {
    let at = this.byte(start) === MINUS ? start + 1 : start;
    at = this.byte(at) === ZERO ? at + 1 : this.endOfDigits(at);
    if (this.byte(at) === POINT) at = this.endOfDigits(at + 1);
    if ((this.byte(at) | 0x20) === 0x65) {
      const sign = this.byte(at + 1);
      at = this.endOfDigits(sign === PLUS || sign === MINUS ? at + 2 : at + 1);
    }
    return at;
  }

  private endOfDigits(start: number): number {
    if (!isDigit(this.byte(start))) throw this.fault(start, 'a digit');
    const { bytes, length } = this;
    let at = start + 1;
    while (at < length && isDigit(bytes[at] ?? 0)) at++;
    return at;
  }
}
