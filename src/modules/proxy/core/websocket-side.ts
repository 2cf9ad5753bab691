import type { Clock, Timer } from '../../../common/clock.js';
import { CLOSE, type Ending } from './websocket-close.js';
import type { Listened } from './websocket-heartbeat.js';

/** From this much unsent on, whoever sends to this side is stalled … */
const HIGH_WATER_BYTES = 1024 * 1024;
/** … until no more than this is left. */
const LOW_WATER_BYTES = 256 * 1024;
/** The same in messages: an empty one weighs in memory, too. */
const HIGH_WATER_MESSAGES = 4096;
const LOW_WATER_MESSAGES = 1024;
/** From `cut` to the end of the connection, where the library's own wait does not begin. */
const CUT_GRACE_MS = 750;
/** Pings are answered in turn; a side that lets so many answers wait, or sends so many pings at a go, floods. */
const MOST_WAITING_PONGS = 60;
/** A socket that is not read tells of its other end only when it is written to. */
const PROBE_EVERY_MS = 400;

const NOTHING = Buffer.alloc(0);

type MessageData = Buffer | ArrayBuffer | Buffer[];

/** What of the library's WebSocket is used here. */
export interface OpenSocket {
  readonly readyState: number;
  readonly OPEN: number;
  readonly CLOSED: number;
  readonly isPaused: boolean;
  /** Sent, but not yet taken by the system. */
  readonly bufferedAmount: number;
  on(event: 'message', listener: (data: MessageData, isBinary: boolean) => void): unknown;
  on(event: 'ping', listener: (data: Buffer) => void): unknown;
  on(event: 'close', listener: (code: number, reason: Buffer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  send(data: Buffer, options: { readonly binary: boolean }, sent: () => void): void;
  ping(data: undefined, mask: undefined, sent: () => void): void;
  pong(data: Buffer | undefined, mask: undefined, sent: () => void): void;
  pause(): void;
  resume(): void;
  close(code: number | undefined, reason: string | Buffer): void;
  terminate(): void;
}

/** What the tunnel hears from a side. */
export interface SideListener {
  message(data: Buffer, isBinary: boolean): void;
  /** The side can take more again. */
  relieved(): void;
  /** A byte has waited too long for its taker. */
  stalled(): void;
  /** The side has ended, or must be taken for ended since it broke the protocol. May come twice. */
  ended(ending: Ending): void;
  /** Its socket is closed; nothing comes any more. Comes once, last. */
  closed(): void;
}

/** Where the bytes of a side are counted: its TCP socket. */
export interface ByteCounter {
  readonly bytesRead?: number | undefined;
}

/** One end of a tunnel: an open WebSocket, with backpressure and an orderly end. */
export class SocketSide implements Listened {
  #unsent = 0;
  #farewell: { code: number | undefined; reason: string | Buffer } | undefined;
  #stall: Timer | undefined;
  #probe: Timer | undefined;
  #grace: Timer | undefined;
  #faultCode: number | undefined;
  #listener: SideListener | undefined;
  #waitingPongs = 0;
  readonly #sent = (): void => this.#flushed();
  readonly #ponged = (): void => {
    this.#waitingPongs -= 1;
  };

  constructor(
    private readonly ws: OpenSocket,
    private readonly counter: ByteCounter,
    private readonly clock: Clock,
    private readonly writeMs: number,
  ) {
    ws.on('error', (error) => this.#broken(error));
  }

  /** From here on messages flow. */
  open(listener: SideListener): void {
    this.#listener = listener;
    this.ws.on('message', (data, isBinary) => {
      if (this.#farewell === undefined) listener.message(bytesOf(data), isBinary);
    });
    this.ws.on('ping', (data) => this.#pinged(data));
    this.ws.on('close', (code, reason) => this.#closed(code, reason));
    if (this.ws.readyState === this.ws.CLOSED) this.#closed(CLOSE.vanished, NOTHING);
    else this.ws.resume();
  }

  get receivedBytes(): number {
    return this.counter.bytesRead ?? 0;
  }

  /** It is not read, or has not taken what it was sent: then another clock runs. */
  get excused(): boolean {
    return this.ws.isPaused || this.#unsent > 0;
  }

  /** Whoever sends to this side must stop. */
  get full(): boolean {
    return this.ws.bufferedAmount > HIGH_WATER_BYTES || this.#unsent > HIGH_WATER_MESSAGES;
  }

  ping(): void {
    this.ws.ping(undefined, undefined, ignore);
  }

  /** Hands a message on. What is sent to a side that is ending is dropped. */
  send(data: Buffer, isBinary: boolean): void {
    if (this.#farewell !== undefined || this.ws.readyState !== this.ws.OPEN) return;
    this.#unsent += 1;
    this.#stall ??= this.#watch();
    this.ws.send(data, { binary: isBinary }, this.#sent);
  }

  /** Stops reading from this side. */
  hold(): void {
    if (this.ws.isPaused || this.#farewell !== undefined) return;
    this.ws.pause();
    this.#probeLater();
  }

  /** Reads on. */
  release(): void {
    if (!this.ws.isPaused) return;
    this.#probe?.cancel();
    this.ws.resume();
  }

  /** Closes behind all that was sent. */
  end(code: number | undefined, reason: string | Buffer): void {
    if (this.#farewell !== undefined) return;
    this.#farewell = { code, reason };
    this.release();
    if (this.#unsent === 0) this.ws.close(code, reason);
  }

  /** Closes now; what is still unsent shortly after is lost. */
  cut(code: number | undefined, reason: string | Buffer): void {
    if (this.ws.readyState === this.ws.CLOSED) return;
    this.#farewell = { code, reason };
    this.release();
    this.ws.close(code, reason);
    this.#grace ??= this.clock.after(CUT_GRACE_MS, () => this.ws.terminate());
  }

  /** Closes the TCP connection. */
  destroy(): void {
    this.#farewell ??= { code: undefined, reason: '' };
    this.ws.terminate();
  }

  #flushed(): void {
    this.#unsent -= 1;
    this.#stall?.cancel();
    this.#stall = this.#unsent > 0 ? this.#watch() : undefined;
    if (this.#farewell !== undefined) {
      if (this.#unsent === 0) this.ws.close(this.#farewell.code, this.#farewell.reason);
    } else if (this.#unsent <= LOW_WATER_MESSAGES && this.ws.bufferedAmount <= LOW_WATER_BYTES) {
      this.#listener?.relieved();
    }
  }

  #watch(): Timer {
    return this.clock.after(this.writeMs, () => this.#listener?.stalled());
  }

  /** A pong that answers nothing is a heartbeat without a reply (RFC 6455 section 5.5.3). A closed peer resets it. */
  #probeLater(): void {
    this.#probe = this.clock.after(PROBE_EVERY_MS, () => {
      if (this.#unsent === 0) this.ws.pong(undefined, undefined, ignore);
      this.#probeLater();
    });
  }

  /** The library answers by itself, too, but ends a flood without a word. */
  #pinged(data: Buffer): void {
    if (this.#farewell !== undefined) return;
    if (this.#waitingPongs === MOST_WAITING_PONGS) {
      this.#faulty(CLOSE.policy);
      return this.cut(CLOSE.policy, 'too many pings');
    }
    this.#waitingPongs += 1;
    this.ws.pong(data, undefined, this.#ponged);
  }

  #broken(error: Error): void {
    this.#faulty(faultCodeOf(error));
  }

  #faulty(faultCode: number): void {
    this.#faultCode = faultCode;
    this.#listener?.ended({ code: CLOSE.vanished, reason: NOTHING, faultCode });
  }

  #closed(code: number, reason: Buffer): void {
    this.#stall?.cancel();
    this.#probe?.cancel();
    this.#grace?.cancel();
    this.#listener?.ended({ code, reason, faultCode: this.#faultCode });
    this.#listener?.closed();
  }
}

/** Nothing to do when a heartbeat has left, and a failed one shows as the socket's end. */
const ignore = (): void => undefined;

function bytesOf(data: MessageData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

/** The library's errors that it closes with another code than `CLOSE.protocolError` for. */
const FAULT_CODES: ReadonlyMap<unknown, number> = new Map([
  ['WS_ERR_INVALID_UTF8', CLOSE.invalidData],
  ['WS_ERR_TOO_MANY_BUFFERED_PARTS', CLOSE.policy],
  ['WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH', CLOSE.tooBig],
  ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', CLOSE.tooBig],
]);

const faultCodeOf = (error: Error): number => ('code' in error && FAULT_CODES.get(error.code)) || CLOSE.protocolError;
