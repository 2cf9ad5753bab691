import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { RawConnection, requestBytes, sendRaw } from './raw-client.js';

let server: Server | undefined;

afterEach(async () => {
  const closing = server && once(server, 'close');
  server?.close();
  await closing;
});

async function serve(answer: (socket: Socket) => void): Promise<number> {
  server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      answer(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('requestBytes', () => {
  it('adds a host and the length of the body, and keeps what is given', () => {
    expect(requestBytes({ method: 'POST', path: '/p', headers: { 'X-A': '1' }, body: 'ä' }).toString()).toBe(
      'POST /p HTTP/1.1\r\nhost: 127.0.0.1\r\nX-A: 1\r\ncontent-length: 2\r\n\r\nä',
    );
    const given = [
      ['Host', 'h'],
      ['Content-Length', '9'],
    ] as const;
    expect(requestBytes({ method: 'POST', path: '/p', headers: given, body: 'x' }).toString()).toBe(
      'POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx',
    );
  });
});

describe('RawConnection', () => {
  it('reads one response after the other', async () => {
    const port = await serve((socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\naHTTP/1.1 400 Bad\r\ncontent-length: 1\r\n\r\nb');
    });
    const connection = await RawConnection.open(port);
    connection.send('x');
    expect(await connection.response()).toMatchObject({ status: 200, body: Buffer.from('a') });
    expect(await connection.response()).toMatchObject({ status: 400, body: Buffer.from('b') });
    expect(await connection.closed).toBe('fin');
    await expect(connection.response()).rejects.toThrow('without a response');
    connection.destroy();
  });

  it('tells a connection that broke from one that ended', async () => {
    const port = await serve((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nab', () => socket.resetAndDestroy());
    });
    expect((await sendRaw(port, { method: 'GET', path: '/' })).end).toBe('cut');
  });

  it('gives up on a response that does not come, and says what did', async () => {
    const port = await serve((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab'));
    const waiting = sendRaw(port, { method: 'GET', path: '/' }, { timeoutMs: 200 });
    await expect(waiting).rejects.toThrow('within 200 ms; so far: 200 ab');
  });
});
