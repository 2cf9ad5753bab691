import { once } from 'node:events';
import { WebSocket } from 'ws';
import { startEcho } from './echo.js';
import type { SimServer } from './wire/sim-app.js';

let server: SimServer;
beforeEach(async () => {
  server = await startEcho({});
});
afterEach(() => server.close());

describe('echo', () => {
  it('tells what it got, byte for byte', async () => {
    const answer = await fetch(`${server.url}/a/b?c=%20d`, { method: 'PUT', body: 'salt', headers: { 'x-one': '1' } });
    expect(await answer.json()).toMatchObject({
      method: 'PUT',
      path: '/a/b',
      query: '?c=%20d',
      headers: { 'x-one': '1' },
      rawHeaders: expect.arrayContaining(['x-one', '1']),
      body: 'salt',
      bodyBytes: 4,
    });
    expect(server.requests).toMatchObject([{ method: 'PUT', path: '/a/b?c=%20d', outcome: 'finished' }]);
  });

  it('answers with the status that the path names', async () => {
    expect((await fetch(`${server.url}/status/418`)).status).toBe(418);
  });

  it('sends events', async () => {
    const answer = await fetch(`${server.url}/sse?events=3&intervalMs=1`);
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(await answer.text()).toBe([1, 2, 3].map((event) => `data: {"event":${event},"of":3}\n\n`).join(''));
  });

  it('gives back what comes over a WebSocket, text and binary', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/any/path`);
    await once(socket, 'open');
    const heard: unknown[] = [];
    socket.on('message', (data: Buffer, isBinary) => heard.push(isBinary ? [...data] : data.toString()));
    socket.send('salt');
    socket.send(Buffer.from([1, 2]));
    while (heard.length < 2) await once(socket, 'message');
    expect(heard).toEqual(['salt', [1, 2]]);
    socket.close();
    await once(socket, 'close');
    expect(server.requests[0]).toMatchObject({ path: '/any/path' });
  });

  it('closes with sockets open', async () => {
    const socket = new WebSocket(server.url.replace('http', 'ws'));
    await once(socket, 'open');
    const closed = once(socket, 'close');
    await server.close();
    await closed;
    expect(server.stats().running).toBe(0);
  });
});
