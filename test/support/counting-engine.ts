import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { CHAT_ANSWER } from './chat-wire.js';

/** By then an engine knows of a caller who had left before. */
const HEARD_AFTER_MS = 10;

/** An engine that counts what it really has at one time. The prompt `takes-N` is answered after N ms. */
export class CountingEngine {
  /** The most that it has had at once since this was last set. */
  peak = 0;
  served = 0;
  private readonly open = new Set<ServerResponse>();

  private constructor(private readonly server: Server) {
    server.on('request', (request, response) => void this.serve(request, response));
  }

  static async start(): Promise<CountingEngine> {
    const server = createServer({ keepAliveTimeout: 60_000 });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CountingEngine(server);
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  get running(): number {
    return this.open.size;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  /** Those whose callers had left when the last of them came do not count: it is only heard of later. */
  private notePeak(here: readonly ServerResponse[]): void {
    setTimeout(() => {
      const stayed = here.filter(({ destroyed, writableFinished }) => writableFinished || !destroyed);
      this.peak = Math.max(this.peak, stayed.length);
    }, HEARD_AFTER_MS);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.open.add(response);
    response.once('close', () => this.open.delete(response));
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    this.notePeak([...this.open]);
    const takes = /takes-(\d+)/.exec(Buffer.concat(pieces).toString('latin1'))?.[1];
    // Whoever holds a place for long must not hold up the end of the tests.
    await delay(Number(takes ?? 0), undefined, { ref: false });
    if (response.destroyed) return;
    this.served += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(CHAT_ANSWER);
  }
}
