import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deltaEvent, DONE_EVENT, FINISH_EVENT } from './chat-wire.js';

export interface PlainSlots {
  readonly slots: number;
  /** From the start of a request's service to its first token, in ms. */
  readonly firstTokenMs: number;
  /** … and to its end. */
  readonly serviceMs: number;
  /** An end may come so much earlier or later; absent: never. Without it, places that a hiccup has put in step stay so. */
  readonly spreadMs?: number;
}

/** An engine that is nothing but places: every request takes the same time or nearly so, and those without a place wait in line. */
export class PlainSlotsEngine {
  running = 0;
  peakRunning = 0;
  /** The most that have been here at once, with a place or in line. */
  peakHere = 0;
  private readonly line: ServerResponse[] = [];

  private constructor(
    private readonly server: Server,
    private readonly policy: PlainSlots,
  ) {
    server.on('request', (request, response) => {
      request.resume();
      this.line.push(response);
      this.peakHere = Math.max(this.peakHere, this.running + this.line.length);
      this.serveNext();
    });
  }

  static async start(policy: PlainSlots): Promise<PlainSlotsEngine> {
    const server = createServer({ keepAliveTimeout: 75_000 });
    const engine = new PlainSlotsEngine(server, policy);
    server.listen(0, '127.0.0.1', 1024);
    await once(server, 'listening');
    return engine;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.server.address() as AddressInfo).port)}`;
  }

  get waiting(): number {
    return this.line.length;
  }

  async stop(): Promise<void> {
    this.line.length = 0;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private serveNext(): void {
    while (this.running < this.policy.slots) {
      const response = this.line.shift();
      if (response === undefined) return;
      if (!response.destroyed) this.serve(response);
    }
  }

  private serve(response: ServerResponse): void {
    this.running += 1;
    // Connections that were closed before this request was sent are seen to be by then.
    const counted = setTimeout(() => (this.peakRunning = Math.max(this.peakRunning, this.running)), 1);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    const { firstTokenMs, serviceMs, spreadMs = 0 } = this.policy;
    const timers = [
      counted,
      setTimeout(() => response.write(deltaEvent('token')), firstTokenMs),
      setTimeout(() => response.end(FINISH_EVENT + DONE_EVENT), serviceMs + spreadMs * (2 * Math.random() - 1)),
    ];
    response.once('close', () => {
      timers.forEach(clearTimeout);
      this.running -= 1;
      this.serveNext();
    });
  }
}
