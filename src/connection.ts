import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** More requests than this, sent ahead on one connection, are a flood and no pipeline. */
const MOST_WAITING = 64;

/** Who serves the requests of all connections. */
export interface Service {
  begin(request: IncomingMessage, response: ServerResponse): void;
  ended(): void;
}

/**
 * One connection of a client. Node hands over pipelined requests as they arrive; here they are served one after
 * another, so that none runs behind an answer that closes the connection, and no caller gets more than its turn by
 * sending ahead.
 */
export class Connection {
  /** Milliseconds of the monotonic clock. */
  readonly openedAt = performance.now();
  #current: IncomingMessage | undefined;
  #upgraded = false;
  #waiting: [IncomingMessage, ServerResponse][] = [];

  constructor(
    private readonly socket: Duplex,
    private readonly service: Service,
  ) {}

  /** The request that is being served. */
  get current(): IncomingMessage | undefined {
    return this.#current;
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#current === undefined) this.#begin(request, response);
    else if (this.#waiting.length < MOST_WAITING) this.#waiting.push([request, response]);
    else this.socket.destroy();
  }

  /** The request asks for another protocol. False: an answer to an earlier one is still being written. */
  upgrade(request: IncomingMessage): boolean {
    if (this.#current !== undefined || this.#upgraded) return false;
    this.#upgraded = true;
    this.#current = request;
    return true;
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#current = request;
    response.on('close', () => this.#ended(response));
    this.service.begin(request, response);
  }

  #ended(response: ServerResponse): void {
    this.#current = undefined;
    this.service.ended();
    const next = this.#waiting.shift();
    if (next === undefined) return;
    if (response.shouldKeepAlive && this.socket.writable) this.#begin(...next);
    else this.#waiting = [];
  }
}
