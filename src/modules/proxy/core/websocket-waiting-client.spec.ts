import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { WaitingClient } from './websocket-waiting-client.js';

const GONE = new Error('gone');

/** A socket whose other end is the test. */
function socketOf(): Duplex {
  return new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
}

const wait = (socket: Duplex, head = ''): WaitingClient => new WaitingClient(socket, Buffer.from(head), () => GONE);

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

  it('stops reading where too much comes', async () => {
    const socket = socketOf();
    const client = wait(socket);
    socket.push(Buffer.alloc(64 * 1024));
    socket.push(Buffer.alloc(64 * 1024));
    await new Promise(setImmediate);
    expect(client.release()).toHaveLength(64 * 1024);
  });

  it('gives the reason that it is told', () => {
    const client = wait(socketOf());
    const reason = new Error('draining');
    client.abort(reason);
    client.abort(GONE);
    expect(client.signal.reason).toBe(reason);
  });
});
