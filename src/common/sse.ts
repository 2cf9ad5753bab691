/** What an `EventSplitter` finds, in order. */
export interface EventSink {
  /** A complete event with the blank line that ends it. */
  event(bytes: Buffer): void;
  /** A piece of an event that is too large to be held; `last` where that event ends with it. */
  part(bytes: Buffer, last: boolean): void;
  /** The LF of a CRLF whose CR has already ended the event before: it shares that event's fate. */
  lineFeed(): void;
}

/** The fields of one event that matter here: `id` and `retry` do not. `data` is undefined where no line carries it. */
export interface EventFields {
  readonly event: string | undefined;
  readonly data: string | undefined;
}

const LF = 0x0a;
const CR = 0x0d;
const NOTHING = Buffer.alloc(0);
const FIRST_CAPACITY_BYTES = 1024;

/**
 * Cuts a byte stream into server-sent events, however its pieces were cut and whichever line ends it uses. Only the
 * unfinished event is held, and no more than `limitBytes` of it: a larger one is handed on in parts.
 */
export class EventSplitter {
  private held = NOTHING;
  private heldBytes = 0;
  private passing = false;
  private atLineStart = true;
  private afterCr = false;

  constructor(
    private readonly sink: EventSink,
    private readonly limitBytes: number,
  ) {}

  /** Nothing of an unfinished event has come. */
  get onBoundary(): boolean {
    return this.heldBytes === 0 && !this.passing;
  }

  /** Half an event has been handed on already. */
  get midEvent(): boolean {
    return this.passing;
  }

  push(chunk: Buffer): void {
    let start = this.skipLineFeed(chunk);
    for (let end = this.findEnd(chunk, start); end !== -1; end = this.findEnd(chunk, start)) {
      this.finish(chunk.subarray(start, end));
      start = end;
    }
    if (start < chunk.length) this.keep(chunk.subarray(start));
  }

  /** The unfinished event, which is no longer held after this. */
  takeRest(): Buffer {
    const rest = this.held.subarray(0, this.heldBytes);
    this.letGo();
    this.atLineStart = true;
    return rest;
  }

  private skipLineFeed(chunk: Buffer): number {
    if (!this.afterCr || !this.onBoundary || chunk[0] !== LF) return 0;
    this.afterCr = false;
    this.sink.lineFeed();
    return 1;
  }

  /** Where the event ends that reaches into `chunk` at `from`, behind its blank line; -1: not in this chunk. */
  private findEnd(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === LF && this.afterCr) {
        this.afterCr = false;
        continue;
      }
      this.afterCr = byte === CR;
      if (byte !== LF && byte !== CR) this.atLineStart = false;
      else if (!this.atLineStart) this.atLineStart = true;
      else return this.behindBlankLine(chunk, at);
    }
    return -1;
  }

  private behindBlankLine(chunk: Buffer, at: number): number {
    if (chunk[at] !== CR || chunk[at + 1] !== LF) return at + 1;
    this.afterCr = false;
    return at + 2;
  }

  private finish(bytes: Buffer): void {
    if (this.passing) {
      this.passing = false;
      this.sink.part(bytes, true);
      return;
    }
    const event = this.heldBytes === 0 ? bytes : this.heldWith(bytes);
    this.letGo();
    // An event that came in one piece must not be treated better than the same one in two.
    if (event.length > this.limitBytes) this.sink.part(event, true);
    else this.sink.event(event);
  }

  private keep(bytes: Buffer): void {
    if (!this.passing && this.heldBytes + bytes.length <= this.limitBytes) {
      this.heldWith(bytes);
      return;
    }
    const part = this.passing ? bytes : this.heldWith(bytes);
    this.letGo();
    this.passing = true;
    this.sink.part(part, false);
  }

  private letGo(): void {
    this.held = NOTHING;
    this.heldBytes = 0;
  }

  /** Appends, doubling the room: an event that comes byte by byte costs no more than a few copies of itself. */
  private heldWith(bytes: Buffer): Buffer {
    const total = this.heldBytes + bytes.length;
    if (total > this.held.length) {
      const larger = Buffer.allocUnsafe(Math.max(total, this.held.length * 2, FIRST_CAPACITY_BYTES));
      this.held.copy(larger, 0, 0, this.heldBytes);
      this.held = larger;
    }
    bytes.copy(this.held, this.heldBytes);
    this.heldBytes = total;
    return this.held.subarray(0, total);
  }
}

/** Reads one event: a byte order mark and comments are passed over, several `data` lines are joined with LF. */
export function eventFields(bytes: Buffer): EventFields {
  const data: string[] = [];
  let event: string | undefined;
  for (const line of bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
  }
  return { event, data: data.length === 0 ? undefined : data.join('\n') };
}

/** One event as bytes; line breaks in `data` become further `data` lines. */
export function eventBytes(data: string, event?: string): Buffer {
  const lines = data.replaceAll('\n', '\ndata: ');
  return Buffer.from(event === undefined ? `data: ${lines}\n\n` : `event: ${event}\ndata: ${lines}\n\n`);
}
