import { Socket } from 'node:net';

/** What is read of bytes that have come; undefined: nothing yet. */
interface Sieve {
  pass(bytes: Buffer): Buffer | undefined;
}

const SIEVE = Symbol('sieve');
/** Bytes that are being offered; null: they have been taken; undefined: none are. */
const OFFERED = Symbol('offered bytes');

interface ReadSocket extends Socket {
  [SIEVE]?: Sieve;
  [OFFERED]?: Buffer | null | undefined;
}

const { push, read } = Socket.prototype as {
  push: (this: Socket, bytes: unknown, encoding?: BufferEncoding) => boolean;
  read: (this: Socket, size?: number) => Buffer | null;
};

/**
 * For a socket whose reader waits for `readable` and then takes all there is: it gets what has come as it comes, through
 * a sieve. By itself Node puts it into the stream's buffer first and tells the reader a tick later, which is a tenth of
 * what relaying a chunk costs. What the reader leaves goes into that buffer, and all is as it would have been.
 */
export function readAtOnce(socket: Socket, sieve: Sieve): void {
  const own: ReadSocket = socket;
  own[SIEVE] = sieve;
  own[OFFERED] = undefined;
  // The same functions for all sockets: a closure of its own for each would keep the compiler from seeing through them.
  own.push = offer;
  own.read = take;
}

function offer(this: ReadSocket, bytes: unknown, encoding?: BufferEncoding): boolean {
  const isFirst = this.readableLength === 0 && this[OFFERED] === undefined;
  if (!isFirst || !(bytes instanceof Buffer) || this.listenerCount('readable') === 0)
    return push.call(this, bytes, encoding);
  this[OFFERED] = bytes;
  let left: Buffer | null | undefined;
  try {
    this.emit('readable');
  } finally {
    left = this[OFFERED];
    this[OFFERED] = undefined;
  }
  return left === null || push.call(this, left);
}

function take(this: ReadSocket, size?: number): Buffer | null {
  const offered = this[OFFERED];
  const sieve = this[SIEVE];
  if (offered !== undefined && size === undefined) {
    if (offered === null) return null;
    this[OFFERED] = null;
    return (sieve === undefined ? offered : sieve.pass(offered)) ?? null;
  }
  for (let bytes = read.call(this, size); bytes !== null; bytes = read.call(this, size)) {
    const passed = sieve === undefined ? bytes : sieve.pass(bytes);
    if (passed !== undefined) return passed;
  }
  return null;
}
