import type { Duplex } from 'node:stream';

/** Frames that a client may send before its handshake is complete; what comes beyond stays in the kernel. */
const MAX_EARLY_BYTES = 64 * 1024;

/**
 * A client whose handshake is not complete. Its socket is read all the same: only so is it noticed that it leaves. What
 * it has sent by then is kept for the tunnel.
 */
export class WaitingClient implements Disposable {
  /** Aborts with the reason given to `abort`, or with `left()` when the client closes its side. */
  readonly signal: AbortSignal;
  readonly #abort = new AbortController();
  readonly #early: Buffer[] = [];
  #earlyBytes = 0;
  readonly #keep = (bytes: Buffer): void => this.#hold(bytes);
  readonly #leave = (): void => this.abort(this.left());

  constructor(
    private readonly socket: Duplex,
    head: Buffer,
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

  /** Nothing more is done for this client. */
  abort(reason: Error): void {
    this.#abort.abort(reason);
  }

  /** Hands the socket over, paused; returns all that has been read from it. */
  release(): Buffer {
    this.socket.pause();
    this[Symbol.dispose]();
    return Buffer.concat(this.#early);
  }

  [Symbol.dispose](): void {
    this.socket.off('data', this.#keep).off('end', this.#leave).off('close', this.#leave).off('error', this.#leave);
  }

  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#early.push(bytes);
    this.#earlyBytes += bytes.length;
    if (this.#earlyBytes >= MAX_EARLY_BYTES) this.socket.pause();
  }
}
