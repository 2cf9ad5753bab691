import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { SimExchange } from './wire/exchange.js';
import { countFrom } from './wire/json.js';
import type { ListenOptions, SimApp, SimServer, SimStats } from './wire/sim-app.js';
import { startServer } from './wire/sim-server.js';

export type EchoOptions = ListenOptions;

/** Starts a plain HTTP service that tells its callers what it got from them, over HTTP, events or WebSocket. */
export const startEcho = (options: EchoOptions): Promise<SimServer> => startServer(new EchoApp(), options);

const DEFAULT_EVENTS = 5;
const DEFAULT_INTERVAL_MS = 100;

class EchoApp implements SimApp {
  private readonly sockets = new WebSocketServer({ noServer: true });
  private running = 0;
  private peakRunning = 0;

  handle(exchange: SimExchange): void {
    this.running += 1;
    this.peakRunning = Math.max(this.peakRunning, this.running);
    exchange.onClosed(() => (this.running -= 1));
    if (exchange.path === '/sse') this.events(exchange);
    else exchange.json(statusFrom(exchange.path), described(exchange), { 'x-echo': 'yes' });
  }

  fail(exchange: SimExchange, status: number): void {
    exchange.send(status, 'the service failed\n', { 'content-type': 'text/plain' });
  }

  gauges(): Pick<SimStats, 'running' | 'waiting' | 'peakRunning'> {
    return { running: this.running, waiting: 0, peakRunning: this.peakRunning };
  }

  crash(): void {
    for (const socket of this.sockets.clients) socket.terminate();
  }

  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.sockets.handleUpgrade(req, socket, head, (client) => {
      client.on('error', () => undefined);
      client.on('message', (data: Buffer, isBinary) => client.send(data, { binary: isBinary }));
    });
  }

  /** `GET /sse?events=N&intervalMs=M`. */
  private events(exchange: SimExchange): void {
    const query = new URL(exchange.seen.path, 'http://echo').searchParams;
    const events = countFrom(query.get('events')) ?? DEFAULT_EVENTS;
    const intervalMs = countFrom(query.get('intervalMs')) ?? DEFAULT_INTERVAL_MS;
    exchange.beginStream({ 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const send = (event: number): void => {
      exchange.event(JSON.stringify({ event, of: events }));
      if (event === events) exchange.endStream();
      else exchange.after(intervalMs, () => send(event + 1));
    };
    send(1);
  }
}

/** `/status/418` answers with that status, everything else with 200. */
const statusFrom = (path: string): number => Number(/^\/status\/([2-5]\d\d)$/.exec(path)?.[1] ?? 200);

function described({ method, path, seen, req, body }: SimExchange): object {
  return {
    method,
    path,
    query: seen.path.slice(path.length),
    headers: req.headers,
    rawHeaders: seen.rawHeaders,
    body: body.toString(),
    bodyBytes: body.length,
  };
}
