import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { HttpResponseParser, headerOf, type ResponseEnd, type ResponseHead } from './http-response-parser.js';
import { parseJson } from './json.js';

/** A response as it came over the wire, whole or cut short. */
export interface RawResponse extends ResponseHead {
  readonly body: Buffer;
  /** `clean`: all that the framing announced has come. `cut`: the connection ended before. */
  readonly end: ResponseEnd;
  header(name: string): string | undefined;
  text(): string;
  /** The body's JSON; undefined where it is none. */
  json(): unknown;
}

export interface RequestParts {
  readonly method: string;
  readonly path: string;
  /** Sent in this order; `host` and, with a body, `content-length` are added where they are missing. */
  readonly headers?: readonly (readonly [name: string, value: string])[] | Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** The bytes of a request. */
export function requestBytes({ method, path, headers = [], body }: RequestParts): Buffer {
  const fields = Array.isArray(headers) ? [...(headers as [string, string][])] : Object.entries(headers);
  const has = (name: string): boolean => fields.some(([each]) => each.toLowerCase() === name);
  const bytes = Buffer.from(body ?? '');
  if (!has('host')) fields.unshift(['host', '127.0.0.1']);
  if (body !== undefined && !has('content-length') && !has('transfer-encoding')) {
    fields.push(['content-length', String(bytes.length)]);
  }
  const head = [`${method} ${path} HTTP/1.1`, ...fields.map(([name, value]) => `${name}: ${value}`), '', ''].join(
    '\r\n',
  );
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
}

export interface ReadOptions {
  /** The request's method, as HEAD is answered without a body. */
  readonly method?: string;
  readonly onHead?: (head: ResponseHead) => void;
  readonly onBody?: (bytes: Buffer) => void;
  /** The longest wait for the whole response. */
  readonly timeoutMs?: number;
}

/** A TCP connection to the gateway that says exactly what it is told to, and hears exactly what comes. */
export class RawConnection {
  /** Bytes that came while nobody read, or behind a response. */
  private early = Buffer.alloc(0);
  private listener: ((bytes: Buffer) => void) | undefined;
  private onClose: ((cleanly: boolean) => void) | undefined;
  private ended: 'open' | 'fin' | 'broken' = 'open';
  /** Settles when the other side has ended the connection (`fin`), or when it broke or was destroyed. */
  readonly closed: Promise<'fin' | 'broken'>;
  private readonly settleClosed: (how: 'fin' | 'broken') => void;

  private constructor(readonly socket: Socket) {
    const { promise, resolve } = Promise.withResolvers<'fin' | 'broken'>();
    this.closed = promise;
    this.settleClosed = resolve;
    socket.on('data', (bytes) => {
      if (this.listener === undefined) this.early = Buffer.concat([this.early, bytes]);
      else this.listener(bytes);
    });
    socket.on('end', () => {
      this.finish('fin');
    });
    socket.on('error', () => {
      this.finish('broken');
    });
    socket.on('close', () => {
      this.finish('broken');
    });
  }

  static async open(port: number, host = '127.0.0.1'): Promise<RawConnection> {
    const socket = connect({ port, host, noDelay: true, allowHalfOpen: true });
    await once(socket, 'connect');
    return new RawConnection(socket);
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(bytes);
  }

  /** The next response on this connection. Rejects where what comes is not HTTP, or does not come in time. */
  async response({ method = 'GET', onHead, onBody, timeoutMs = 20_000 }: ReadOptions = {}): Promise<RawResponse> {
    let head: ResponseHead | undefined;
    const pieces: Buffer[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<ResponseEnd>();
    const parser = new HttpResponseParser(method, {
      head(found) {
        head = found;
        onHead?.(found);
      },
      body(bytes) {
        pieces.push(bytes);
        onBody?.(bytes);
      },
      end: resolve,
    });
    const timer = setTimeout(() => {
      reject(new Error(`no complete response within ${String(timeoutMs)} ms; so far: ${describe(head, pieces)}`));
    }, timeoutMs);
    try {
      this.feed(parser, reject);
      const end = await promise;
      if (head === undefined) throw new Error('the connection ended without a response');
      return rawResponse(head, Buffer.concat(pieces), end);
    } finally {
      clearTimeout(timer);
      this.listener = undefined;
      this.onClose = undefined;
      this.early = Buffer.from(parser.surplus);
    }
  }

  /** Says that nothing more will be sent (FIN), and goes on reading. */
  finishSending(): void {
    this.socket.end();
  }

  /** Closes both ways at once, as a client does that goes away. */
  destroy(): void {
    this.socket.destroy();
  }

  private feed(parser: HttpResponseParser, reject: (error: unknown) => void): void {
    const guarded = (use: () => void): void => {
      try {
        use();
      } catch (error) {
        reject(error);
      }
    };
    const early = this.early;
    this.early = Buffer.alloc(0);
    this.listener = (bytes) => {
      guarded(() => {
        parser.push(bytes);
      });
    };
    this.onClose = (cleanly) => {
      guarded(() => {
        parser.close(cleanly);
      });
    };
    this.listener(early);
    if (this.ended !== 'open') this.onClose(this.ended === 'fin');
  }

  private finish(how: 'fin' | 'broken'): void {
    if (this.ended !== 'open') return;
    this.ended = how;
    this.onClose?.(how === 'fin');
    this.settleClosed(how);
  }
}

/** Sends one request on a connection of its own and reads its response. */
export async function sendRaw(port: number, request: RequestParts, options: ReadOptions = {}): Promise<RawResponse> {
  const connection = await RawConnection.open(port);
  try {
    connection.send(requestBytes(request));
    return await connection.response({ ...options, method: request.method });
  } finally {
    connection.destroy();
  }
}

function rawResponse(head: ResponseHead, body: Buffer, end: ResponseEnd): RawResponse {
  return {
    ...head,
    body,
    end,
    header: (name) => headerOf(head, name),
    text: () => body.toString('utf8'),
    json: () => parseJson(body.toString('utf8')),
  };
}

const describe = (head: ResponseHead | undefined, pieces: readonly Buffer[]): string =>
  head === undefined ? 'nothing' : `${String(head.status)} ${Buffer.concat(pieces).toString('utf8').slice(0, 400)}`;
