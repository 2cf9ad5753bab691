import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** More requests than this, sent ahead on one connection, are a flood and no pipeline. */
const MOST_WAITING = 64;
/** How often it is looked whether a body that was sent ahead keeps the socket from being read. */
const LOOK_MS = 250;
/** So much of what nobody will answer is read and thrown away; more is a flood. */
const MOST_THROWN_AWAY_BYTES = 1024 * 1024;

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
  #response: ServerResponse | undefined;
  #upgraded = false;
  #closesBehind = false;
  #waiting: [IncomingMessage, ServerResponse][] = [];
  #looking: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: Socket,
    private readonly service: Service,
  ) {
    socket.once('close', () => {
      this.#stopLooking();
      this.#waiting = [];
    });
  }

  /** The request that is being served. */
  get current(): IncomingMessage | undefined {
    return this.#current;
  }

  /** A request is being answered of which nothing is outstanding: what comes behind it is none of its business. */
  get answers(): boolean {
    return this.#current?.complete === true && !this.#upgraded;
  }

  take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#current === undefined) this.#begin(request, response);
    else if (this.#waiting.length === MOST_WAITING) this.socket.destroy();
    else {
      this.#waiting.push([request, response]);
      this.#looking ??= setInterval(() => this.#lookBehind(), LOOK_MS);
    }
  }

  /** The request asks for another protocol. False: an answer to an earlier one is still being written. */
  upgrade(request: IncomingMessage): boolean {
    if (this.#current !== undefined || this.#upgraded) return false;
    this.#upgraded = true;
    this.#current = request;
    return true;
  }

  /** What has come behind the request that is being answered will have no answer: the connection ends with this one. */
  closeBehind(): void {
    this.#closesBehind = true;
    if (this.#response !== undefined) this.#response.shouldKeepAlive = false;
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    this.#current = request;
    this.#response = response;
    response.on('close', () => this.#ended(response));
    this.service.begin(request, response);
  }

  #ended(response: ServerResponse): void {
    this.#current = this.#response = undefined;
    this.service.ended();
    // Node closes by itself only where the head has said so.
    if (this.#closesBehind) this.socket.destroySoon();
    const next = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#stopLooking();
    if (next === undefined) return;
    if (response.shouldKeepAlive && this.socket.writable) this.#begin(...next);
    else this.#waiting = [];
  }

  /**
   * A socket on which a body lies that nobody takes is read no more, and then its client may leave unseen while its
   * first request holds a slot. Such bodies are thrown away, and the connection ends behind the answer that is due: a
   * client has to expect that (RFC 9112 section 9.3.2).
   */
  #lookBehind(): void {
    if (!this.#waiting.some(([request]) => request.readableLength >= request.readableHighWaterMark)) return;
    let leftBytes = MOST_THROWN_AWAY_BYTES;
    for (const [request] of this.#waiting)
      request.on('data', ({ length }: Buffer) => {
        leftBytes -= length;
        if (leftBytes < 0) this.socket.destroy();
      });
    this.#stopLooking();
    this.closeBehind();
  }

  #stopLooking(): void {
    clearInterval(this.#looking);
    this.#looking = undefined;
  }
}
