import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Node writes a string up to this from the stack; a larger piece is not worth being made one. */
const TEXT_BYTES = 16 * 1024 - 32;
/** What ends a chunk. */
const CRLF_BYTES = 2;

/**
 * Writes the pieces of a response in chunks, each frame as one string. `response.write` queues four pieces for it and
 * takes a tick of its own to send them, which is an eighth of what relaying a chunk costs. The head, heartbeats, the last
 * chunk and whatever comes in a burst stay Node's, which makes one chunk of what is written in one go.
 */
export class ChunkWriter {
  /** Node has been given the head to send. */
  #headOut = false;

  constructor(private readonly response: ServerResponse) {}

  /** Writes a piece; `more` follows at once. False: enough is waiting, and `drainOf` tells when it has gone. */
  write(bytes: Uint8Array, more: boolean): boolean {
    const { response } = this;
    const { socket } = response;
    // What Node holds back until the end of the tick has to go first.
    const isDirect = this.#headOut && !more && response.chunkedEncoding && response.writableCorked === 0;
    this.#headOut = true;
    return isDirect && socket?.writable === true ? writeFrame(socket, bytes) : response.write(bytes);
  }
}

/** Ends a response with its whole body. Small ones leave as one string with their head, not as two pieces. */
export function endWith(response: ServerResponse, body: Uint8Array): void {
  if (body.length > TEXT_BYTES) response.end(body);
  else response.end(textOf(body), 'latin1');
}

/** Whether a chunk of an engine has another one behind it in the memory that both were received in. */
export const isFollowed = ({ buffer, byteOffset, byteLength }: Uint8Array): boolean =>
  byteOffset + byteLength + CRLF_BYTES < buffer.byteLength;

/** Who says `drain` once what waits has gone. */
export const drainOf = (response: ServerResponse): ServerResponse | Socket =>
  response.socket?.writableNeedDrain === true ? response.socket : response;

/** RFC 9112 section 7.1. */
function writeFrame(socket: Socket, bytes: Uint8Array): boolean {
  const size = bytes.length.toString(16);
  if (bytes.length <= TEXT_BYTES) return socket.write(`${size}\r\n${textOf(bytes)}\r\n`, 'latin1');
  socket.cork();
  socket.write(`${size}\r\n`, 'latin1');
  socket.write(bytes);
  const more = socket.write('\r\n', 'latin1');
  socket.uncork();
  return more;
}

/** Each byte as one character. */
const textOf = (bytes: Uint8Array): string =>
  (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)).toString('latin1');
