import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws';

/** What a client of the upstream asked, and the socket that it got. */
export interface Accepted {
  readonly request: IncomingMessage;
  readonly ws: WebSocket;
  /** The TCP connection below. */
  readonly socket: Socket;
}

export interface SocketUpstreamOptions extends Pick<ServerOptions, 'handleProtocols' | 'autoPong'> {
  /** Answers the handshake by hand. */
  readonly answer?: (request: IncomingMessage, socket: Socket, head: Buffer) => void;
  /** An address of the loopback; absent: 127.0.0.1. */
  readonly host?: string;
  /** Sees every socket before a byte of it is read. */
  readonly onSocket?: (accepted: Accepted) => void;
}

/** An upstream that speaks WebSocket, and remembers who came. */
export class SocketUpstream {
  /** Handshakes that arrived, refused ones too. */
  readonly requests: IncomingMessage[] = [];
  private readonly waiting: ((accepted: Accepted) => void)[] = [];
  private readonly ready: Accepted[] = [];
  private readonly connections = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly sockets: WebSocketServer,
  ) {}

  static async start({
    answer,
    onSocket,
    host = '127.0.0.1',
    ...options
  }: SocketUpstreamOptions = {}): Promise<SocketUpstream> {
    const server = createServer((_request, response) => response.end('not a socket'));
    const upstream = new SocketUpstream(server, new WebSocketServer({ noServer: true, ...options }));
    server.on('connection', (socket: Socket) => upstream.connections.add(socket));
    server.on('upgrade', (request, socket: Socket, head: Buffer) => {
      upstream.requests.push(request);
      socket.on('error', () => socket.destroy());
      if (answer !== undefined) answer(request, socket, head);
      else upstream.accept(request, socket, head, onSocket);
    });
    server.listen(0, host);
    await once(server, 'listening');
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The next socket that has been opened and not been asked for yet. */
  next(): Promise<Accepted> {
    const ready = this.ready.shift();
    if (ready !== undefined) return Promise.resolve(ready);
    const { promise, resolve } = Promise.withResolvers<Accepted>();
    this.waiting.push(resolve);
    return promise;
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.connections) socket.destroy();
    await closed;
  }

  /** Completes the handshake, as every upstream without an `answer` of its own does. */
  accept(request: IncomingMessage, socket: Socket, head: Buffer, onSocket?: SocketUpstreamOptions['onSocket']): void {
    this.sockets.handleUpgrade(request, socket, head, (ws) => {
      const accepted = { request, ws, socket };
      ws.on('error', () => undefined);
      onSocket?.(accepted);
      const waiting = this.waiting.shift();
      if (waiting === undefined) this.ready.push(accepted);
      else waiting(accepted);
    });
  }
}

/** How a WebSocket was closed. */
export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** Settles when it is closed; ask before it can be. */
export async function closeOf(ws: WebSocket): Promise<Closed> {
  const [code, reason] = (await once(ws, 'close')) as [number, Buffer];
  return { code, reason: reason.toString() };
}

/** The next message, as text or bytes. */
export async function messageOf(ws: WebSocket): Promise<string | Buffer> {
  const [data, isBinary] = (await once(ws, 'message')) as [Buffer, boolean];
  return isBinary ? data : data.toString();
}
