import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { cut } from './cut.js';
import { SimExchange } from './exchange.js';
import { NO_FAULTS, parseFaults, type Faults } from './faults.js';
import { objectFrom } from './json.js';
import { SeenRequests, type SeenRequest } from './seen-request.js';
import type { ListenOptions, SimApp, SimServer, SimStats } from './sim-app.js';

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
    for (const socket of this.sockets) cut(socket);
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
    this.seen.add(seen);
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
      this.seen.bodyOf(seen, Buffer.concat(chunks));
      this.dispatch(req, res, seen);
    });
  }

  private dispatch(req: IncomingMessage, res: ServerResponse, seen: SeenRequest): void {
    if (seen.path.startsWith('/__sim/')) return this.control(new SimExchange(req, res, seen, NO_FAULTS, this.seen));
    if (seen.path.startsWith('/metrics')) return this.metrics(req, res, seen);
    const exchange = new SimExchange(req, res, seen, this.takeFaults(), this.seen);
    this.answer(exchange, exchange.faults, exchange.faults.headDelayMs ?? 0);
  }

  private answer(exchange: SimExchange, { hang, status }: Pick<Faults, 'hang' | 'status'>, waitMs: number): void {
    if (hang === true) return;
    const send = (): void => (status === undefined ? this.handle(exchange) : this.app.fail(exchange, status));
    if (waitMs === 0) send();
    else exchange.after(waitMs, send);
  }

  /** A mistake in the simulation is shown to whoever met it, and ends nobody else's requests. */
  private handle(exchange: SimExchange): void {
    try {
      this.app.handle(exchange);
    } catch (error) {
      if (exchange.res.headersSent) exchange.reset();
      else exchange.json(500, { error: `the simulation failed: ${String(error)}` });
    }
  }

  private takeFaults(): Faults {
    if (this.faultsLeft <= 0) return NO_FAULTS;
    this.faultsLeft -= 1;
    return this.faults;
  }

  private metrics(req: IncomingMessage, res: ServerResponse, seen: SeenRequest): void {
    const { body, delayMs = 0, waitForStep, ...faults } = this.faults.metrics ?? {};
    const exchange = new SimExchange(req, res, seen, body === undefined ? NO_FAULTS : { body }, this.seen);
    // A timer may come a little early; the step must be over by then.
    const stepMs = waitForStep === true ? Math.ceil(this.app.stepLeftMs?.() ?? 0) + 1 : 0;
    this.answer(exchange, faults, delayMs + stepMs);
  }

  private control(exchange: SimExchange): void {
    const route = `${exchange.method} ${exchange.path}`;
    if (route === 'GET /__sim/stats') return exchange.json(200, this.stats());
    if (route !== 'POST /__sim/faults' || !this.faultsEndpoint) return exchange.json(404, { error: 'not found' });
    try {
      this.obey(exchange, JSON.parse(exchange.body.toString()));
    } catch (error) {
      exchange.json(400, { error: (error as Error).message });
    }
  }

  /** `crash` and `refuseMs` are deeds, done once behind the answer; all else is a state that stays. */
  private obey(exchange: SimExchange, wanted: unknown): void {
    const { crash, refuseMs, ...faults } = objectFrom(wanted) ?? {};
    this.setFaults(parseFaults(objectFrom(wanted) === undefined ? wanted : faults));
    exchange.onClosed(() => {
      if (crash === true) this.crash();
      if (typeof refuseMs === 'number') this.refuseFor(refuseMs);
    });
    exchange.json(200, this.faults, { connection: 'close' });
  }

  private refuseFor(delayMs: number): void {
    void this.refuse();
    clearTimeout(this.returning);
    // Somebody else may have taken the port in the meantime: then it is tried again.
    this.returning = setTimeout(() => void this.accept().catch(() => this.refuseFor(delayMs)), delayMs);
  }

  private upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const seen = this.note(req);
    socket.on('error', () => undefined);
    socket.once('close', () => this.seen.end(seen, 'finished'));
    this.app.upgrade?.(req, socket, head);
  }
}
