import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { WaitingClient, type HeldMemory } from './websocket-waiting-client.js';

const GONE = new Error('gone');

/** A socket whose other end is the test. */
function socketOf(): Duplex {
  return new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
}

const KiB = 1024;

/** A budget that says what is out of it. */
class Memory implements HeldMemory {
  heldBytes = 0;

  constructor(private readonly limitBytes = Infinity) {}

  take(bytes: number): boolean {
    if (this.heldBytes + bytes > this.limitBytes) return false;
    this.heldBytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.heldBytes -= bytes;
  }
}

const wait = (socket: Duplex, head = '', memory = new Memory()): WaitingClient =>
  new WaitingClient(socket, Buffer.from(head), memory, () => GONE);

describe('WaitingClient', () => {
  it('keeps what has come, in order, and hands the socket over paused', async () => {
    const socket = socketOf();
    const client = wait(socket, 'head ');
    socket.push('early ');
    socket.push('frames');
    await new Promise(setImmediate);
    expect(client.release().toString()).toBe('head early frames');
    expect([socket.isPaused(), socket.listenerCount('data'), socket.listenerCount('end')]).toEqual([true, 0, 0]);
    expect(client.gone).toBe(false);
  });

  it('notices that the client closes its side', async () => {
    const socket = socketOf();
    const client = wait(socket);
    socket.push(null);
    await once(client.signal, 'abort');
    expect([client.gone, client.signal.reason]).toEqual([true, GONE]);
  });

  it('notices that the connection breaks, or has broken before', async () => {
    const socket = socketOf();
    const client = wait(socket);
    socket.destroy(new Error('reset'));
    await once(client.signal, 'abort');
    expect(client.gone).toBe(true);
    expect(wait(socket).gone).toBe(true);
  });

  it('reads on however much comes, and so notices that the client leaves', async () => {
    const socket = socketOf();
    const client = wait(socket);
    for (let i = 0; i < 7; i++) socket.push(Buffer.alloc(64 * KiB));
    await new Promise(setImmediate);
    expect([client.gone, socket.isPaused()]).toEqual([false, false]);
    socket.push(null);
    await once(client.signal, 'abort');
    expect(client.signal.reason).toBe(GONE);
  });

  it.each([
    ['in large pieces', 8, 64 * KiB],
    ['in pieces of a byte', 2048, 1],
  ])('turns away whoever sends too much %s', async (_, pieces, bytes) => {
    const socket = socketOf();
    const memory = new Memory();
    const client = wait(socket, '', memory);
    for (let i = 0; i < pieces; i++) socket.push(Buffer.alloc(bytes));
    await new Promise(setImmediate);
    expect(client.signal.reason).toMatchObject({ code: 'invalid-request-head' });
    expect([socket.isPaused(), memory.heldBytes, client.release().length]).toEqual([false, 0, 0]);
  });

  it('takes what it keeps out of the common budget, and turns away whoever sends what does not fit', async () => {
    const memory = new Memory(100 * KiB);
    const [first, second] = [socketOf(), socketOf()];
    const [kept, tooMuch] = [wait(first, '', memory), wait(second, '', memory)];
    first.push(Buffer.alloc(64 * KiB));
    second.push(Buffer.alloc(64 * KiB));
    await new Promise(setImmediate);
    expect([kept.gone, tooMuch.signal.reason]).toEqual([false, expect.objectContaining({ code: 'memory-exhausted' })]);
    expect(kept.release()).toHaveLength(64 * KiB);
    expect(memory.heldBytes).toBe(0);
  });

  it('waits for work until the client leaves, and no longer', async () => {
    const client = wait(socketOf());
    expect(await client.during(Promise.resolve('done'))).toBe('done');
    await expect(client.during(Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    const endless = client.during(new Promise(() => undefined));
    client.abort(GONE);
    await expect(endless).rejects.toBe(GONE);
    await expect(client.during('too late')).rejects.toBe(GONE);
  });

  it('gives the reason that it is told', () => {
    const client = wait(socketOf());
    const reason = new Error('draining');
    client.abort(reason);
    client.abort(GONE);
    expect(client.signal.reason).toBe(reason);
  });
});
