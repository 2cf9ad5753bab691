import { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { readAtOnce } from './read-at-once.js';

/** Passes all but what is to be dropped. */
const sieve = (dropped = 'nothing'): { pass(bytes: Buffer): Buffer | undefined } => ({
  pass: (bytes) => (bytes.toString() === dropped ? undefined : bytes),
});

/** A reader as undici is one: told that there is something, it takes all; in a pause it takes nothing. */
class Reader {
  readonly got: string[] = [];
  paused = false;
  ended = false;

  constructor(readonly socket: Socket) {
    socket.on('readable', () => this.takeAll());
    socket.on('end', () => (this.ended = true));
  }

  takeAll(): void {
    while (!this.paused) {
      const bytes = this.socket.read() as Buffer | null;
      if (bytes === null) return;
      this.take(bytes.toString());
    }
  }

  protected take(text: string): void {
    this.got.push(text);
  }
}

/** Stops behind the first byte of what it gets, and puts the rest back. */
class PausingReader extends Reader {
  protected override take(text: string): void {
    super.take(text.slice(0, 1));
    this.paused = true;
    this.socket.unshift(Buffer.from(text.slice(1)));
  }
}

/** A socket without a connection: what comes is pushed by the test, as the system's callback does. */
async function readSocket<T extends Reader>(Kind: new (socket: Socket) => T, dropped?: string): Promise<T> {
  const socket = new Socket();
  readAtOnce(socket, sieve(dropped));
  const reader = new Kind(socket);
  await turn();
  return reader;
}

const come = (reader: Reader, text: string): boolean => reader.socket.push(Buffer.from(text));

describe('readAtOnce', () => {
  it('gives a waiting reader what has come before push returns', async () => {
    const reader = await readSocket(Reader);
    expect(come(reader, 'one')).toBe(true);
    expect(come(reader, 'two')).toBe(true);
    expect(reader.got).toEqual(['one', 'two']);
    expect(reader.socket.readableLength).toBe(0);
  });

  it('reads nothing of what the sieve holds back', async () => {
    const reader = await readSocket(Reader, 'dropped');
    expect(come(reader, 'dropped')).toBe(true);
    come(reader, 'passed');
    expect(reader.got).toEqual(['passed']);
  });

  it('keeps for later, in order, what a reader in a pause leaves, and says when that is enough', async () => {
    const reader = await readSocket(Reader, 'dropped');
    reader.paused = true;
    come(reader, 'one');
    come(reader, 'two');
    expect(come(reader, '.'.repeat(reader.socket.readableHighWaterMark))).toBe(false);
    expect(reader.got).toEqual([]);
    reader.paused = false;
    reader.takeAll();
    expect(reader.got.join('')).toMatch(/^onetwo\.+$/);
    come(reader, 'three');
    await turn();
    expect(reader.got.at(-1)).toBe('three');
  });

  it('puts what a reader gives back in front of what comes next', async () => {
    const reader = await readSocket(PausingReader);
    come(reader, 'abc');
    come(reader, 'def');
    await turn();
    expect(reader.got).toEqual(['a']);
    expect(String(reader.socket.read())).toBe('bcdef');
  });

  it('tells the end behind the last bytes', async () => {
    const reader = await readSocket(Reader);
    come(reader, 'last');
    reader.socket.push(null);
    reader.socket.read(0);
    await turn();
    expect(reader).toMatchObject({ got: ['last'], ended: true });
  });

  it('leaves a socket alone on which nobody waits', async () => {
    const reader = await readSocket(Reader);
    reader.socket.removeAllListeners('readable');
    come(reader, 'kept');
    expect(reader.got).toEqual([]);
    expect(reader.socket.readableLength).toBe(4);
  });

  it('serves a reader that has failed once', async () => {
    const reader = await readSocket(Reader);
    const fail = (): never => {
      throw new Error('the reader fails');
    };
    reader.socket.prependOnceListener('readable', fail);
    expect(() => come(reader, 'lost')).toThrow('the reader fails');
    come(reader, 'next');
    await turn();
    expect(reader.got.at(-1)).toBe('next');
  });
});
