import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface FrameParts {
  readonly opcode: number;
  readonly payload?: string | Buffer;
  readonly fin?: boolean;
  /** The three reserved bits, 0 to 7. */
  readonly reserved?: number;
  readonly masked?: boolean;
  /** Announced instead of the true length, in 64 bits. */
  readonly claimedLength?: bigint;
}

const MASK = Buffer.from([0x12, 0x34, 0x56, 0x78]);

/** The bytes of a frame, right or wrong (RFC 6455 section 5.2). */
export function frame({
  opcode,
  payload = '',
  fin = true,
  reserved = 0,
  masked = true,
  claimedLength,
}: FrameParts): Buffer {
  const data = Buffer.from(payload);
  const first = (fin ? 0x80 : 0) | (reserved << 4) | opcode;
  const maskBit = masked ? 0x80 : 0;
  const body = masked ? data.map((byte, i) => byte ^ (MASK[i % 4] ?? 0)) : data;
  const parts = [
    Buffer.from([first]),
    lengthBytes(data.length, maskBit, claimedLength),
    masked ? MASK : Buffer.alloc(0),
    body,
  ];
  return Buffer.concat(parts);
}

function lengthBytes(length: number, maskBit: number, claimed: bigint | undefined): Buffer {
  if (claimed === undefined && length < 126) return Buffer.from([maskBit | length]);
  if (claimed === undefined && length < 65_536) {
    const short = Buffer.alloc(3);
    short.writeUInt8(maskBit | 126);
    short.writeUInt16BE(length, 1);
    return short;
  }
  const long = Buffer.alloc(9);
  long.writeUInt8(maskBit | 127);
  long.writeBigUInt64BE(claimed ?? BigInt(length), 1);
  return long;
}

/** A frame as it came, unmasked. */
export interface ReceivedFrame {
  readonly opcode: number;
  readonly payload: Buffer;
}

const HANDSHAKE: Readonly<Record<string, string>> = {
  host: '127.0.0.1',
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

/** The head of a handshake; a field that is undefined is left out. */
export function handshakeBytes(
  path: string,
  fields: Readonly<Record<string, string | undefined>> = {},
  method = 'GET',
): Buffer {
  const all = Object.entries({ ...HANDSHAKE, ...fields }).filter(([, value]) => value !== undefined);
  const lines = all.map(([name, value]) => `${name}: ${value ?? ''}`);
  return Buffer.from([`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n'), 'latin1');
}

/** A client that sends exactly the bytes it is told to, never closes by itself, and remembers what it got. */
export class RawSocketClient {
  private received = Buffer.alloc(0);
  private wake: () => void = () => undefined;
  /** The gateway has ended the connection. */
  ended = false;

  private constructor(readonly socket: Socket) {
    socket.on('data', (bytes) => {
      this.received = Buffer.concat([this.received, bytes]);
      this.wake();
    });
    for (const event of ['end', 'close', 'error']) {
      socket.on(event, () => {
        this.ended = true;
        this.wake();
      });
    }
  }

  static async open(port: number, ...bytes: readonly Buffer[]): Promise<RawSocketClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    await once(socket, 'connect');
    const client = new RawSocketClient(socket);
    client.send(...bytes);
    return client;
  }

  send(...bytes: readonly Buffer[]): void {
    if (bytes.length > 0) this.socket.write(Buffer.concat(bytes));
  }

  /** The status line and fields of the answer to the handshake, once they are complete. */
  async head(): Promise<{ status: number; text: string }> {
    await this.until(() => this.headEnd() > 0);
    const text = this.received.toString('latin1', 0, this.headEnd());
    return { status: Number(text.slice(9, 12)), text };
  }

  /** Everything behind the head. */
  body(): string {
    return this.received.toString('utf8', this.headEnd());
  }

  /** Settles when the gateway has ended the connection. */
  async end(): Promise<void> {
    await this.until(() => this.ended);
  }

  /** The code of the gateway's close frame, once one has come or the connection is over; undefined: none came. */
  async closeCode(): Promise<number | undefined> {
    const close = (): ReceivedFrame | undefined => this.frames().find(({ opcode }) => opcode === OPCODE.close);
    await this.until(() => this.ended || close() !== undefined);
    return close()?.payload.readUInt16BE(0);
  }

  /** The complete frames behind the head. */
  frames(): ReceivedFrame[] {
    const frames: ReceivedFrame[] = [];
    let rest = this.received.subarray(this.headEnd());
    for (let next = takeFrame(rest); next !== undefined; next = takeFrame(rest)) {
      frames.push(next.frame);
      rest = rest.subarray(next.size);
    }
    return frames;
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.ended) throw new Error(`the connection ended after ${JSON.stringify(this.received.toString('latin1'))}`);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  private headEnd(): number {
    const end = this.received.indexOf('\r\n\r\n');
    return end < 0 ? 0 : end + 4;
  }
}

function takeFrame(bytes: Buffer): { frame: ReceivedFrame; size: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = (bytes[1] ?? 0) & 0x7f;
  const start = short === 126 ? 4 : short === 127 ? 10 : 2;
  if (bytes.length < start) return undefined;
  const length = short === 126 ? bytes.readUInt16BE(2) : short === 127 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < start + length) return undefined;
  const payload = bytes.subarray(start, start + length);
  return { frame: { opcode: (bytes[0] ?? 0) & 0x0f, payload }, size: start + length };
}
