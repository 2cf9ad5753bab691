/** A response head as it came over the wire. */
export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  /** Names as they were written, in their order, repeated ones too. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** How a response ended: `clean` only where its framing says that all of it is there. */
export type ResponseEnd = 'clean' | 'cut';

export interface ParserEvents {
  head(head: ResponseHead): void;
  body(bytes: Buffer): void;
  end(how: ResponseEnd): void;
}

type State = 'head' | 'fixed' | 'until-close' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailers' | 'done';

/** Reads one HTTP/1.1 response (and the 1xx heads before it) from its bytes. Throws on what is not HTTP. */
export class HttpResponseParser {
  private state: State = 'head';
  private pending = Buffer.alloc(0);
  /** Bytes of the body, or of the current chunk, that are still to come. */
  private left = 0;

  constructor(
    private readonly method: string,
    private readonly events: ParserEvents,
  ) {}

  get done(): boolean {
    return this.state === 'done';
  }

  /** Bytes that came behind the end of the response. */
  get surplus(): Buffer {
    return this.pending;
  }

  push(bytes: Uint8Array): void {
    this.pending = Buffer.concat([this.pending, bytes]);
    while (!this.done && this.step());
  }

  /** The connection has ended, `cleanly` with a FIN. */
  close(cleanly: boolean): void {
    if (this.done) return;
    this.finish(this.state === 'until-close' && cleanly ? 'clean' : 'cut');
  }

  /** Takes one step; false where more bytes are needed for it. */
  private step(): boolean {
    switch (this.state) {
      case 'head':
        return this.readHead();
      case 'fixed':
      case 'until-close':
      case 'chunk-data':
        return this.readData();
      case 'chunk-size':
        return this.readChunkSize();
      case 'chunk-end':
        return this.readLine((line) => {
          if (line !== '') throw new Error(`a chunk is longer than its size: ${JSON.stringify(line)}`);
          this.state = 'chunk-size';
        });
      case 'trailers':
        return this.readLine((line) => {
          if (line === '') this.finish('clean');
        });
      case 'done':
        return false;
    }
  }

  private readHead(): boolean {
    const end = this.pending.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const [statusLine = '', ...lines] = this.pending.toString('latin1', 0, end).split('\r\n');
    this.pending = this.pending.subarray(end + 4);
    const parsed = /^HTTP\/1\.[01] (\d{3})(?: (.*))?$/.exec(statusLine);
    if (parsed === null) throw new Error(`not a status line: ${JSON.stringify(statusLine)}`);
    const head = { status: Number(parsed[1]), reason: parsed[2] ?? '', headers: lines.map(headerFrom) };
    if (head.status >= 200 || head.status === 101) this.beginBody(head);
    return true;
  }

  private beginBody(head: ResponseHead): void {
    this.events.head(head);
    const length = headerOf(head, 'content-length');
    const bodyless = this.method === 'HEAD' || head.status === 204 || head.status === 304 || head.status === 101;
    if (bodyless || length === '0') return this.finish('clean');
    if (headerOf(head, 'transfer-encoding')?.toLowerCase() === 'chunked') this.state = 'chunk-size';
    else this.state = length === undefined ? 'until-close' : 'fixed';
    this.left = Number(length ?? 0);
  }

  private readData(): boolean {
    if (this.pending.length === 0) return false;
    const size = this.state === 'until-close' ? this.pending.length : Math.min(this.left, this.pending.length);
    const bytes = this.pending.subarray(0, size);
    this.pending = this.pending.subarray(size);
    this.left -= size;
    this.events.body(bytes);
    if (this.state !== 'until-close' && this.left === 0) {
      if (this.state === 'fixed') this.finish('clean');
      else this.state = 'chunk-end';
    }
    return true;
  }

  private readChunkSize(): boolean {
    return this.readLine((line) => {
      const size = /^([0-9a-fA-F]{1,8})(?:;.*)?$/.exec(line)?.[1];
      if (size === undefined) throw new Error(`not a chunk size: ${JSON.stringify(line)}`);
      this.left = parseInt(size, 16);
      this.state = this.left === 0 ? 'trailers' : 'chunk-data';
    });
  }

  private readLine(use: (line: string) => void): boolean {
    const end = this.pending.indexOf('\r\n');
    if (end < 0) return false;
    const line = this.pending.toString('latin1', 0, end);
    this.pending = this.pending.subarray(end + 2);
    use(line);
    return true;
  }

  private finish(how: ResponseEnd): void {
    this.state = 'done';
    this.events.end(how);
  }
}

function headerFrom(line: string): [string, string] {
  const colon = line.indexOf(':');
  if (colon < 1) throw new Error(`not a header field: ${JSON.stringify(line)}`);
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

/** The field's value, several put together with commas; undefined where it is not there. */
export function headerOf(head: ResponseHead, name: string): string | undefined {
  const values = head.headers.filter(([each]) => each.toLowerCase() === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(', ');
}
