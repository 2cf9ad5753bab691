import type { Duplex } from 'node:stream';
import { GatewayProblem } from '../../../common/problem/gateway-problem.js';

/** Frames that a client may send before its handshake is answered; RFC 6455 section 4.1 grants it none. */
const MOST_EARLY_BYTES = 512 * 1024;
/** What holding a piece costs besides its bytes. */
const PIECE_BYTES = 256;

/** The budget that whatever is held for clients comes out of. */
export interface HeldMemory {
  take(bytes: number): boolean;
  giveBack(bytes: number): void;
}

/**
 * A client whose handshake is not complete. Its socket is read all the same: only so is it noticed that it leaves. What
 * it has sent by then is kept for the tunnel; one that sends more than can be kept is turned away, for not to read it
 * would mean not to see it leave.
 */
export class WaitingClient implements Disposable {
  /** Aborts with the reason given to `abort`, with `left()` when the client closes its side, or with a GatewayProblem. */
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();
  #early: Buffer[] = [];
  #earlyBytes = 0;
  #heldBytes = 0;
  readonly #keep = (bytes: Buffer): void => this.#hold(bytes);
  readonly #leave = (): void => this.abort(this.left());

  constructor(
    private readonly socket: Duplex,
    head: Buffer,
    private readonly memory: HeldMemory,
    private readonly left: () => Error,
  ) {
    this.signal = this.#abort.signal;
    socket.on('end', this.#leave).on('close', this.#leave).on('error', this.#leave);
    if (socket.destroyed || socket.readableEnded) this.#leave();
    this.#hold(head);
    socket.on('data', this.#keep);
  }

  /** Nothing has been sent to it. */
  readonly committed = false;

  get gone(): boolean {
    return this.signal.aborted;
  }

  /** Nothing more is done for this client. The first reason counts. */
  abort(reason: Error): void {
    this.#abort.abort(reason);
    this.#drop();
  }

  /** Settles as `work` does, or rejects with the reason for which the client leaves before. */
  async during<T>(work: T | Promise<T>): Promise<T> {
    const left = Promise.withResolvers<never>();
    const leave = (): void => left.reject(this.signal.reason as Error);
    this.signal.addEventListener('abort', leave, { once: true });
    if (this.gone) leave();
    try {
      return await Promise.race([left.promise, work]);
    } finally {
      this.signal.removeEventListener('abort', leave);
    }
  }

  /** Hands the socket over, paused; returns all that has been read from it. */
  release(): Buffer {
    this.socket.pause();
    const early = Buffer.concat(this.#early);
    this[Symbol.dispose]();
    return early;
  }

  [Symbol.dispose](): void {
    this.socket.off('data', this.#keep).off('end', this.#leave).off('close', this.#leave).off('error', this.#leave);
    this.#drop();
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0 || this.gone) return;
    this.#earlyBytes += bytes.length + PIECE_BYTES;
    if (this.#earlyBytes > MOST_EARLY_BYTES) return this.abort(tooEarly());
    if (!this.memory.take(bytes.length + PIECE_BYTES)) return this.abort(noRoom());
    this.#heldBytes = this.#earlyBytes;
    this.#early.push(bytes);
  }

  #drop(): void {
    this.memory.giveBack(this.#heldBytes);
    this.#heldBytes = 0;
    this.#early = [];
  }
}

const tooEarly = (): GatewayProblem =>
  new GatewayProblem('invalid-request-head', {
    detail: 'Too much was sent before the handshake was answered.',
    closeConnection: true,
  });

const noRoom = (): GatewayProblem =>
  new GatewayProblem('memory-exhausted', {
    detail: 'Too much is being held for others: the gateway is overloaded.',
    retryAfterSeconds: 5,
    closeConnection: true,
  });
