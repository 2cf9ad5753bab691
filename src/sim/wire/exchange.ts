import type { IncomingMessage, ServerResponse } from 'node:http';
import { cut } from './cut.js';
import { HOSTILE_BYTES, HTML_PAGE, type Faults, type SpoiltBody } from './faults.js';
import type { SeenRequest, SeenRequests } from './seen-request.js';

type Headers = Readonly<Record<string, string>>;

/** One request at a simulated server and its answer, with the faults that were in force when it came. */
export class SimExchange {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  private eventsSent = 0;
  private silenced = false;
  private readonly timers = new Set<NodeJS.Timeout>();

  constructor(
    readonly req: IncomingMessage,
    readonly res: ServerResponse,
    readonly seen: SeenRequest,
    readonly faults: Faults,
    private readonly log: SeenRequests,
  ) {
    this.method = seen.method;
    this.path = seen.path.split('?', 1)[0] ?? '/';
    this.onClosed(() => this.timers.forEach((timer) => clearTimeout(timer)));
  }

  get body(): Buffer {
    return this.seen.body;
  }

  /** Whether the answer can no longer reach anybody. */
  get gone(): boolean {
    return this.res.closed || this.res.destroyed;
  }

  /** Calls back once when the client has left or the answer is out, whichever way it ended. */
  onClosed(callback: () => void): void {
    this.res.once('close', callback);
  }

  /** Calls back after a delay, unless the answer has ended by then. */
  after(delayMs: number, callback: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      callback();
    }, delayMs);
    this.timers.add(timer);
  }

  json(status: number, value: unknown, headers: Headers = {}): void {
    this.send(status, JSON.stringify(value), { 'content-type': 'application/json', ...headers });
  }

  /** A complete answer with its length. */
  send(
    status: number,
    body: string | Buffer,
    headers: Headers = {},
    spoilt: SpoiltBody | undefined = this.faults.body,
  ): void {
    if (this.gone) return;
    const bytes = Buffer.from(spoilt === 'hostile' ? HOSTILE_BYTES : spoilt === 'html' ? HTML_PAGE : body);
    const type = spoilt === 'html' ? { 'content-type': 'text/html' } : {};
    this.res.writeHead(status, { ...headers, ...type, 'content-length': String(bytes.length) });
    if (spoilt === 'truncated') this.cutAfter(bytes.subarray(0, bytes.length / 2));
    else this.res.end(bytes);
  }

  /** Sends the head of an event stream at once, before there is any event. */
  beginStream(headers: Headers): void {
    if (this.gone) return;
    this.res.writeHead(200, headers);
    this.res.flushHeaders();
  }

  /** Sends one event. False: a fault has ended or silenced the stream. */
  event(data: string): boolean {
    if (this.gone || this.silenced) return false;
    const fault = this.faults.stream;
    if (fault !== undefined && this.eventsSent >= fault.afterEvents) {
      this.breakStream(fault.way, data);
      return false;
    }
    this.eventsSent += 1;
    this.res.write(`data: ${data}\n\n`);
    return true;
  }

  endStream(): void {
    if (!this.gone && !this.silenced) this.res.end();
  }

  /** Cuts the connection as a process that dies does. */
  reset(): void {
    this.log.end(this.seen, 'cut');
    cut(this.req.socket);
  }

  private breakStream(way: NonNullable<Faults['stream']>['way'], data: string): void {
    this.silenced = true;
    switch (way) {
      case 'silence':
        return;
      case 'end':
        this.res.end();
        return;
      case 'error':
        this.res.end(
          'data: {"error": {"message": "EngineCore encountered an issue.", "type": "InternalServerError", "param": null, "code": 500}}\n\n',
        );
        return;
      case 'half-event':
        this.cutAfter(`data: ${data.slice(0, data.length / 2)}`);
        return;
      case 'reset':
        this.reset();
        return;
    }
  }

  /** Sends what there is, and closes in the middle of the answer. */
  private cutAfter(bytes: string | Uint8Array): void {
    this.res.write(bytes, () => {
      this.log.end(this.seen, 'cut');
      this.req.socket.destroy();
    });
  }
}
