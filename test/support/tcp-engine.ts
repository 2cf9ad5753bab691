import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A request as it came over a socket, and the socket to answer on. */
export interface TcpRequest {
  readonly head: string;
  /** Empty where only the head was waited for. */
  readonly body: Buffer;
  readonly socket: Socket;
  /** Counts the requests from 0. */
  readonly call: number;
  /** Counts the connections from 0. */
  readonly connection: number;
  /** When the gateway ended or broke the connection, in milliseconds of this process's monotonic clock. */
  readonly left: Promise<number>;
}

export type TcpAnswer = (request: TcpRequest) => unknown;

/** An upstream below HTTP libraries: it reads requests, and answers with the bytes that it is told. */
export class TcpEngine {
  readonly requests: TcpRequest[] = [];
  readonly sockets = new Set<Socket>();
  /** Connections taken so far. */
  accepted = 0;
  /** Answers as soon as the head is there; the body is not read by then. */
  answersHead = false;
  /** Sees each connection before anything is read of it. */
  onConnection: ((socket: Socket) => void) | undefined;
  #server: Server | undefined;
  #port = 0;

  private constructor(public answer: TcpAnswer) {}

  static async start(answer: TcpAnswer = () => undefined): Promise<TcpEngine> {
    const engine = new TcpEngine(answer);
    await engine.listen();
    return engine;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.#port)}`;
  }

  /** Listens again, on the port that it had. */
  async listen(): Promise<void> {
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
      this.#take(socket);
    });
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Closes the listener and every connection. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.close();
    for (const socket of this.sockets) socket.destroy();
    await once(server, 'close');
  }

  /** Forgets what was asked, and answers like this from now on. */
  play(answer: TcpAnswer, { answersHead = false }: { answersHead?: boolean } = {}): void {
    this.requests.length = 0;
    this.answersHead = answersHead;
    this.onConnection = undefined;
    this.answer = answer;
  }

  /** The request of this number, once it is there. Rejects where it does not come in time. */
  async request(call: number, withinMs = 5000): Promise<TcpRequest> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const found = this.requests[call];
      if (found !== undefined) return found;
      if (performance.now() > deadline) throw new Error(`request ${String(call)} did not reach the engine`);
      await delay(1);
    }
  }

  #take(socket: Socket): void {
    const connection = this.accepted++;
    this.sockets.add(socket);
    const left = Promise.withResolvers<number>();
    const gone = (): void => {
      left.resolve(performance.now());
    };
    socket.once('end', () => {
      gone();
      socket.end();
    });
    socket.on('error', gone);
    socket.once('close', () => {
      gone();
      this.sockets.delete(socket);
    });
    this.onConnection?.(socket);
    this.#read(socket, connection, left.promise);
  }

  #read(socket: Socket, connection: number, left: Promise<number>): void {
    let pieces: Buffer[] = [];
    let bytes = 0;
    let wanted = 0;
    socket.on('data', (piece) => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes < wanted) return;
      let pending: Buffer = Buffer.concat(pieces);
      for (;;) {
        const found = splitRequest(pending, this.answersHead);
        if (typeof found === 'number') {
          wanted = found;
          break;
        }
        pending = found.rest;
        const request = { ...found, socket, connection, left, call: this.requests.length };
        this.requests.push(request);
        this.answer(request);
      }
      pieces = [pending];
      bytes = pending.length;
    });
  }
}

/** The first request of the bytes and what is behind it; the number of bytes that are needed where it is not whole. */
function splitRequest(bytes: Buffer, headOnly: boolean): { head: string; body: Buffer; rest: Buffer } | number {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return 0;
  const head = bytes.toString('latin1', 0, end + 2);
  const length = headOnly ? 0 : Number(/^content-length: *(\d+)\r$/im.exec(head)?.[1] ?? 0);
  const whole = end + 4 + length;
  if (bytes.length < whole) return whole;
  return { head, body: bytes.subarray(end + 4, whole), rest: headOnly ? Buffer.alloc(0) : bytes.subarray(whole) };
}

/** Writes so many bytes as fast as they are taken; what is returned tells how many the system has taken so far. */
export function pour(socket: Socket, size: number): () => number {
  const piece = Buffer.alloc(64 * 1024, 'x');
  let left = size;
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      const bytes = piece.subarray(0, Math.min(left, piece.length));
      left -= bytes.length;
      if (!socket.write(bytes)) return void socket.once('drain', more);
    }
  };
  more();
  return () => size - left - socket.writableLength;
}
