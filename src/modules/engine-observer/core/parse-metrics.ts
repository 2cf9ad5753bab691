import { parseSample, type Sample } from './parse-sample.js';

/** What a metrics page said about the families that were wanted. */
export interface MetricsPage {
  /** In the order of the page; of series written twice, the first. */
  readonly samples: readonly Sample[];
  /** Lines that could hold a sample, of any family. */
  readonly lines: number;
  readonly badLines: number;
  readonly duplicates: number;
  /** A limit was passed and the rest was not read. */
  readonly oversize: boolean;
  /** `# EOF` was seen. */
  readonly ended: boolean;
}

export const MAX_LINE_BYTES = 64 * 1024;
export const MAX_LINES = 50_000;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const HASH = 0x23;
const BRACE = 0x7b;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const END_MARK = Buffer.from('# EOF');

interface WantedName {
  readonly name: string;
  readonly bytes: Buffer;
}

/**
 * Reads a page of the Prometheus text format as it arrives (0.0.4, and what OpenMetrics adds is tolerated). Names are
 * compared as bytes, so a family that nobody wants costs neither a string nor an object. It never throws.
 */
export class MetricsParser {
  readonly #wantedByLength = new Map<number, WantedName[]>();
  readonly #samples: Sample[] = [];
  readonly #seen = new Set<string>();
  /** The line that has begun and not ended yet. */
  #begun: Buffer | undefined;
  #begunBytes = 0;
  #atStart = true;
  #lines = 0;
  #badLines = 0;
  #duplicates = 0;
  #oversize = false;
  #ended = false;

  constructor(wanted: Iterable<string>) {
    for (const name of wanted) {
      const bytes = Buffer.from(name);
      const same = this.#wantedByLength.get(bytes.length) ?? [];
      this.#wantedByLength.set(bytes.length, [...same, { name, bytes }]);
    }
  }

  /** Takes the next bytes. false: there is no need for more, the page has ended or is too large. */
  push(chunk: Uint8Array | string): boolean {
    const bytes = bufferFrom(chunk);
    let from = 0;
    while (this.#open) {
      const newline = bytes.indexOf(NEWLINE, from);
      if (newline < 0) break;
      this.#endLine(bytes, from, newline);
      from = newline + 1;
    }
    if (this.#open && from < bytes.length) this.#keep(bytes, from, bytes.length);
    return this.#open;
  }

  /** The last line may lack its newline. */
  finish(): MetricsPage {
    if (this.#open && this.#begun !== undefined) this.#readLine(this.#begun, 0, this.#begunBytes);
    this.#begunBytes = 0;
    return {
      samples: this.#samples,
      lines: this.#lines,
      badLines: this.#badLines,
      duplicates: this.#duplicates,
      oversize: this.#oversize,
      ended: this.#ended,
    };
  }

  get #open(): boolean {
    return !this.#oversize && !this.#ended;
  }

  #endLine(bytes: Buffer, from: number, to: number): void {
    if (this.#begunBytes === 0 || this.#begun === undefined) return this.#readLine(bytes, from, to);
    this.#keep(bytes, from, to);
    if (this.#open) this.#readLine(this.#begun, 0, this.#begunBytes);
    this.#begunBytes = 0;
  }

  #keep(bytes: Buffer, from: number, to: number): void {
    if (this.#begunBytes + to - from > MAX_LINE_BYTES) {
      this.#oversize = true;
      return;
    }
    this.#begun ??= Buffer.allocUnsafe(MAX_LINE_BYTES);
    bytes.copy(this.#begun, this.#begunBytes, from, to);
    this.#begunBytes += to - from;
  }

  #readLine(bytes: Buffer, from: number, to: number): void {
    if (to - from > MAX_LINE_BYTES) {
      this.#oversize = true;
      return;
    }
    const start = skipBlanks(bytes, this.#atStart ? skipByteOrderMark(bytes, from, to) : from, to);
    this.#atStart = false;
    const end = to > start && bytes[to - 1] === RETURN ? to - 1 : to;
    if (start === end) return;
    if (bytes[start] === HASH) this.#ended = isEndMark(bytes, start, end);
    else this.#readSample(bytes, start, end);
  }

  #readSample(bytes: Buffer, from: number, to: number): void {
    this.#lines += 1;
    if (this.#lines > MAX_LINES) {
      this.#oversize = true;
      return;
    }
    // A name in quotes is one that no engine's gauge has.
    if (bytes[from] === BRACE) return;
    const nameEnd = skipName(bytes, from, to);
    if (nameEnd === from || nameEnd === to || !endsName(bytes[nameEnd])) {
      this.#badLines += 1;
      return;
    }
    const name = this.#wantedName(bytes, from, nameEnd);
    if (name !== undefined) this.#take(parseSample(name, bytes.toString('utf8', nameEnd, to)));
  }

  #wantedName(bytes: Buffer, from: number, to: number): string | undefined {
    const sameLength = this.#wantedByLength.get(to - from);
    return sameLength?.find((wanted) => wanted.bytes.compare(bytes, from, to) === 0)?.name;
  }

  #take(sample: Sample | undefined): void {
    if (sample === undefined) {
      this.#badLines += 1;
      return;
    }
    const key = JSON.stringify([sample.name, ...[...sample.labels].sort(byName)]);
    if (this.#seen.has(key)) {
      this.#duplicates += 1;
      return;
    }
    this.#seen.add(key);
    this.#samples.push(sample);
  }
}

function bufferFrom(chunk: Uint8Array | string): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk);
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

const byName = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : 1);

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09;
const endsName = (byte: number | undefined): boolean => isBlank(byte) || byte === BRACE;
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isLetter = (byte: number): boolean => (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a;
const isNameByte = (byte: number): boolean => isLetter(byte) || isDigit(byte) || byte === 0x5f || byte === 0x3a;

/** Where the name ends; at once where there is none. */
function skipName(bytes: Buffer, from: number, to: number): number {
  let at = from;
  if (isDigit(bytes[at] ?? 0)) return at;
  while (at < to && isNameByte(bytes[at] ?? 0)) at += 1;
  return at;
}

function skipBlanks(bytes: Buffer, from: number, to: number): number {
  let at = from;
  while (at < to && isBlank(bytes[at])) at += 1;
  return at;
}

function skipByteOrderMark(bytes: Buffer, from: number, to: number): number {
  const end = from + BYTE_ORDER_MARK.length;
  return end <= to && BYTE_ORDER_MARK.compare(bytes, from, end) === 0 ? end : from;
}

const isEndMark = (bytes: Buffer, from: number, to: number): boolean => END_MARK.compare(bytes, from, to) === 0;
