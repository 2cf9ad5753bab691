import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { SimExchange } from './exchange.js';
import { NO_FAULTS, parseFaults, type Faults } from './faults.js';
import { objectFrom } from './json.js';
import { SeenRequests, type SeenRequest } from './seen-request.js';

/** What every kind of simulated server can be started with. */
export interface ListenOptions {
  /** Absent: the loopback. */
  readonly host?: string | undefined;
  /** Absent or 0: one that is free. */
  readonly port?: number | undefined;
  /** Opens `POST /__sim/faults` to whoever can reach the port; absent: closed, and faults are set from the code alone. */
  readonly faultsEndpoint?: boolean | undefined;
}

export interface SimStats {
  readonly requests: number;
  readonly finished: number;
  /** Answers that a client did not wait for. */
  readonly aborted: number;
  /** Answers that a fault ended. */
  readonly cut: number;
  readonly running: number;
  readonly waiting: number;
  /** The most requests that truly ran at one time. */
  readonly peakRunning: number;
}

/** A simulated server that is up. */
export interface SimServer {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** The latest requests, oldest first; those for `/__sim/` are left out. */
  readonly requests: readonly SeenRequest[];
  stats(): SimStats;
  /** Replaces what goes wrong from the next request on. */
  setFaults(faults: Faults): void;
  /** Drops every connection and request and starts anew, as a process that dies and is restarted. */
  crash(): void;
  /** Drops every connection and refuses new ones until `accept`. */
  refuse(): Promise<void>;
  accept(): Promise<void>;
  /** Settles when all sockets and timers are gone. May be called twice. */
  close(): Promise<void>;
}

/** What makes a server one of its kind. */
export interface SimApp {
  handle(exchange: SimExchange): void;
  /** An error in the engine's own words, for the fault that asks for a status. */
  fail(exchange: SimExchange, status: number): void;
  gauges(): Pick<SimStats, 'running' | 'waiting' | 'peakRunning'>;
  crash(): void;
  /** How long the step that runs still takes, in ms. */
  stepLeftMs?(): number;
  upgrade?(req: IncomingMessage, socket: Duplex, head: Buffer): void;
}

/** Starts a server for the app. Rejects where the address is not to be had. */
export async function startServer(app: SimApp, options: ListenOptions): Promise<SimServer> {
  const server = new HttpSimServer(app, options);
  await server.accept();
  return server;
}

class HttpSimServer implements SimServer {
  readonly host: string;
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private readonly seen = new SeenRequests();
  private readonly faultsEndpoint: boolean;
  private faults: Faults = NO_FAULTS;
  private faultsLeft = Infinity;
  private boundPort: number;
  private returning: NodeJS.Timeout | undefined;

  constructor(
    private readonly app: SimApp,
    options: ListenOptions,
  ) {
    this.host = options.host ?? '127.0.0.1';
    this.boundPort = options.port ?? 0;
    this.faultsEndpoint = options.faultsEndpoint ?? false;
    this.server = createServer({ keepAliveTimeout: 75_000, requestTimeout: 0 }, (req, res) => this.receive(req, res));
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    if (app.upgrade !== undefined) this.server.on('upgrade', (req, socket, head) => this.upgrade(req, socket, head));
  }

  get port(): number {
    return this.boundPort;
  }

  get url(): string {
    return `http://${this.host.includes(':') ? `[${this.host}]` : this.host}:${this.port}`;
  }

  get requests(): readonly SeenRequest[] {
    return this.seen.latest;
  }

  stats(): SimStats {
    return { ...this.seen.counts, ...this.app.gauges() };
  }

  setFaults(faults: Faults): void {
    this.faults = faults;
    this.faultsLeft = faults.times ?? Infinity;
  }

  crash(): void {
    this.dropConnections();
    this.app.crash();
  }

  async refuse(): Promise<void> {
    const closed = this.server.listening ? once(this.server, 'close') : undefined;
    this.server.close();
    this.dropConnections();
    await closed;
  }

  async accept(): Promise<void> {
    if (this.server.listening) return;
    this.server.listen(this.boundPort, this.host);
    await once(this.server, 'listening');
    this.boundPort = (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    clearTimeout(this.returning);
    await this.refuse();
    this.app.crash();
  }

  private dropConnections(): void {
    for (const request of this.seen.latest) this.seen.end(request, 'cut');
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  private note(req: IncomingMessage): SeenRequest {
    const seen: SeenRequest = {
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      rawHeaders: req.rawHeaders,
      body: Buffer.alloc(0),
      outcome: 'open',
      endedAtMs: undefined,
    };
    if (!seen.path.startsWith('/__sim/')) this.seen.add(seen);
    return seen;
  }

  private receive(req: IncomingMessage, res: ServerResponse): void {
    const seen = this.note(req);
    const chunks: Buffer[] = [];
    res.on('error', () => undefined);
    res.once('close', () => this.seen.end(seen, res.writableFinished ? 'finished' : 'aborted'));
    req.on('error', () => undefined);
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = Buffer.concat(chunks);
      if (seen.path.startsWith('/__sim/')) seen.body = body;
      else this.seen.bodyOf(seen, body);
      this.dispatch(req, res, seen);
    });
  }

  private dispatch(req: IncomingMessage, res: ServerResponse, seen: SeenRequest): void {
    if (seen.path.startsWith('/__sim/')) return this.control(new SimExchange(req, res, seen, NO_FAULTS, this.seen));
    if (seen.path.startsWith('/metrics')) return this.metrics(new SimExchange(req, res, seen, {}, this.seen));
    const exchange = new SimExchange(req, res, seen, this.takeFaults(), this.seen);
    const { hang, headDelayMs, status } = exchange.faults;
    if (hang === true) return;
    const answer = (): void => (status === undefined ? this.app.handle(exchange) : this.app.fail(exchange, status));
    if (headDelayMs === undefined) answer();
    else exchange.after(headDelayMs, answer);
  }

  private takeFaults(): Faults {
    if (this.faultsLeft <= 0) return NO_FAULTS;
    this.faultsLeft -= 1;
    return this.faults;
  }

  private metrics(plain: SimExchange): void {
    const { body, delayMs = 0, hang, status, waitForStep } = this.faults.metrics ?? {};
    if (hang === true) return;
    const faults = body === undefined ? NO_FAULTS : { body };
    const exchange = new SimExchange(plain.req, plain.res, plain.seen, faults, this.seen);
    const answer = (): void => (status === undefined ? this.app.handle(exchange) : this.app.fail(exchange, status));
    const waitMs = delayMs + (waitForStep === true ? (this.app.stepLeftMs?.() ?? 0) : 0);
    if (waitMs === 0) answer();
    else exchange.after(waitMs, answer);
  }

  private control(exchange: SimExchange): void {
    const route = `${exchange.method} ${exchange.path}`;
    if (route === 'GET /__sim/stats') return exchange.json(200, this.stats());
    if (route !== 'POST /__sim/faults' || !this.faultsEndpoint) return exchange.json(404, { error: 'not found' });
    try {
      this.obey(exchange, JSON.parse(exchange.body.toString()));
    } catch (error) {
      exchange.json(400, { error: error instanceof Error ? error.message : 'not JSON' });
    }
  }

  /** `crash` and `refuseMs` are deeds, done once behind the answer; all else is a state that stays. */
  private obey(exchange: SimExchange, wanted: unknown): void {
    const { crash, refuseMs, ...faults } = objectFrom(wanted) ?? {};
    this.setFaults(parseFaults(faults));
    exchange.onClosed(() => {
      if (crash === true) this.crash();
      if (typeof refuseMs === 'number') this.refuseFor(refuseMs);
    });
    exchange.json(200, this.faults, { connection: 'close' });
  }

  private refuseFor(delayMs: number): void {
    void this.refuse();
    clearTimeout(this.returning);
    this.returning = setTimeout(() => void this.accept(), delayMs);
  }

  private upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const seen = this.note(req);
    socket.on('error', () => undefined);
    socket.once('close', () => this.seen.end(seen, 'finished'));
    this.app.upgrade?.(req, socket, head);
  }
}
