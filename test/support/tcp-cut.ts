import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A line to another port that can be cut: what is on it then is lost, and nobody gets through until it is mended. */
export class TcpCut {
  private isCut = false;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly to: number,
  ) {
    server.on('connection', (socket) => this.join(socket));
  }

  static async to(port: number): Promise<TcpCut> {
    const line = new TcpCut(createServer({ noDelay: true }), port);
    line.server.listen(0, '127.0.0.1');
    await once(line.server, 'listening');
    return line;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Connections stay open, and nothing crosses them any more; new ones are taken, and lead nowhere. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.unpipe().pause();
  }

  /** What has been cut stays lost: its connections end. */
  mend(): void {
    this.isCut = false;
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private join(client: Socket): void {
    this.keep(client);
    if (this.isCut) return;
    const server = connect({ port: this.to, host: '127.0.0.1', noDelay: true });
    this.keep(server);
    client.pipe(server).pipe(client);
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
  }

  private keep(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.sockets.delete(socket));
  }
}
