import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { handshakeBytes, RawSocketClient } from '../support/raw-socket-client.js';
import { closeOf, messageOf } from '../support/socket-upstream.js';
import { eventually, Flood, MiB, SocketWorld } from '../support/socket-world.js';

/** What an open WebSocket carries, and how it ends. */
describe('WebSocket tunnel', () => {
  let world: SocketWorld;

  beforeAll(async () => {
    const timeouts = { connect: '2s', read: '10s', write: '10s' };
    const socket = { ping: '100ms', missedPongs: 2, perTenant: 8 };
    world = await SocketWorld.start([
      { prefix: '/console', upstream: 'console', websocket: true, more: { maxBody: '64KiB' } },
      { prefix: '/large', upstream: 'console', websocket: true, more: { maxBody: '2MiB' } },
      { prefix: '/watched', upstream: 'console', websocket: true, more: { socket } },
      {
        prefix: '/short',
        upstream: 'console',
        websocket: true,
        more: { timeouts: { ...timeouts, connect: '300ms', total: '300ms' } },
      },
      { prefix: '/quiet', upstream: 'console', websocket: true, more: { timeouts: { ...timeouts, read: '400ms' } } },
      {
        prefix: '/impatient',
        upstream: 'console',
        websocket: true,
        more: { maxBody: '2MiB', timeouts: { ...timeouts, write: '300ms' } },
      },
    ]);
  }, 60_000);

  afterAll(() => world.stop());
  afterEach(() => world.slotsFree());

  it('carries text and bytes both ways, fragmented and empty ones too', async () => {
    const { ws, client } = await world.tunnel('/console');
    const bytes = randomBytes(60_000);
    const echo = async (data: string | Buffer): Promise<string | Buffer> => {
      ws.once('message', (got: Buffer, isBinary) => ws.send(got, { binary: isBinary }));
      client.send(data);
      return messageOf(client);
    };
    expect(await echo('grüße 👋')).toBe('grüße 👋');
    expect(await echo(bytes)).toEqual(bytes);
    expect(await echo('')).toBe('');
    const whole = messageOf(ws);
    client.send('one ', { fin: false });
    client.send('message', { fin: true });
    expect(await whole).toBe('one message');
    client.close();
  });

  it('answers pings itself, on both sides', async () => {
    const { ws, client } = await world.tunnel('/console');
    let crossed = 0;
    ws.on('ping', () => (crossed += 1));
    client.on('ping', () => (crossed += 1));
    client.ping('a');
    ws.ping('b');
    const [[fromClientSide], [fromUpstreamSide]] = (await Promise.all([once(client, 'pong'), once(ws, 'pong')])) as [
      [Buffer],
      [Buffer],
    ];
    expect([fromClientSide.toString(), fromUpstreamSide.toString()]).toEqual(['a', 'b']);
    expect(crossed).toBe(0);
    client.close();
  });

  it.each([
    [1000, 'done'],
    [1001, 'leaving'],
    [1011, ''],
    [1013, 'try again'],
    [3000, 'registered'],
    [4999, 'grüße'],
  ])('hands close code %i on, whoever closes', async (code, reason) => {
    const closedByClient = await world.tunnel('/console');
    closedByClient.client.close(code, reason);
    expect(await closeOf(closedByClient.ws)).toEqual({ code, reason });
    const closedByUpstream = await world.tunnel('/console');
    closedByUpstream.ws.close(code, reason);
    expect(await closeOf(closedByUpstream.client)).toEqual({ code, reason });
  });

  it('hands a close without a code on as one', async () => {
    const { ws, client } = await world.tunnel('/console');
    client.close();
    expect(await closeOf(ws)).toEqual({ code: 1005, reason: '' });
  });

  it('delivers everything that was sent before the close', async () => {
    const { ws, client } = await world.tunnel('/large');
    let heardBytes = 0;
    client.on('message', (data: Buffer) => (heardBytes += data.length));
    for (let i = 0; i < 8; i++) ws.send(randomBytes(MiB));
    ws.close(1000);
    expect(await closeOf(client)).toMatchObject({ code: 1000 });
    expect(heardBytes).toBe(8 * MiB);
  });

  it('tells the upstream that the client is gone, with a FIN and with a reset', async () => {
    const fin = await world.tunnel('/console');
    fin.client.terminate();
    expect(await closeOf(fin.ws)).toMatchObject({ code: 1001 });
    const raw = await world.raw('/console');
    const { ws } = await world.upstream.next();
    raw.socket.resetAndDestroy();
    expect(await closeOf(ws)).toMatchObject({ code: 1001 });
  });

  it('tells the client that the upstream is gone, with a FIN and with a reset', async () => {
    const fin = await world.tunnel('/console');
    fin.ws.terminate();
    expect(await closeOf(fin.client)).toMatchObject({ code: 1014 });
    const reset = await world.tunnel('/console');
    reset.socket.resetAndDestroy();
    expect(await closeOf(reset.client)).toMatchObject({ code: 1014 });
  });

  it('stalls the upstream while the client does not read, and loses nothing', async () => {
    const { ws, client } = await world.tunnel('/large');
    client.pause();
    const flood = new Flood(ws, 64);
    await flood.stalls();
    expect(flood.acceptedBytes).toBeLessThan(24 * MiB);
    let heardBytes = 0;
    client.on('message', (data: Buffer) => (heardBytes += data.length));
    client.resume();
    await eventually(() => heardBytes === 64 * MiB);
    client.close();
  }, 30_000);

  it('stalls the client while the upstream does not read, and loses nothing', async () => {
    const { ws, client } = await world.tunnel('/large');
    ws.pause();
    const flood = new Flood(client, 64);
    await flood.stalls();
    expect(flood.acceptedBytes).toBeLessThan(24 * MiB);
    let heardBytes = 0;
    ws.on('message', (data: Buffer) => (heardBytes += data.length));
    ws.resume();
    await eventually(() => heardBytes === 64 * MiB);
    client.close();
  }, 30_000);

  it('notices that a stalled client leaves, long before its time to write is over', async () => {
    const { ws, client } = await world.tunnel('/large');
    ws.pause();
    const flood = new Flood(client, 64);
    await flood.stalls();
    expect(await world.slotsInUse()).toBe(1);
    client.terminate();
    await world.slotsFree();
    ws.terminate();
  }, 8_000);

  it('cuts a client that does not read for too long', async () => {
    const { ws, client } = await world.tunnel('/impatient');
    client.pause();
    const flood = new Flood(ws, 64);
    const closed = closeOf(ws);
    await flood.stalls();
    expect(await closed).toMatchObject({ code: 1001 });
    client.terminate();
  }, 30_000);

  it('closes the client where the upstream does not read for too long', async () => {
    const { ws, client } = await world.tunnel('/impatient');
    ws.pause();
    const flood = new Flood(client, 64);
    const closed = closeOf(client);
    await flood.stalls();
    expect(await closed).toMatchObject({ code: 1014 });
    ws.terminate();
  }, 30_000);

  it('closes a client that answers no pings, and keeps one that does', async () => {
    const silent = await world.tunnel('/watched', { autoPong: false });
    const lively = await world.tunnel('/watched');
    let pings = 0;
    lively.client.on('ping', () => (pings += 1));
    const [atClient, atUpstream] = await Promise.all([closeOf(silent.client), closeOf(silent.ws)]);
    expect([atClient.code, atUpstream.code]).toEqual([1011, 1001]);
    const before = pings;
    await eventually(() => pings >= before + 4);
    expect(lively.client.readyState).toBe(WebSocket.OPEN);
    lively.client.close();
  });

  it('gives up an upstream that is silent for too long, unless it answers when asked', async () => {
    const lively = await world.tunnel('/quiet');
    const client = world.dial('/quiet');
    const { ws, socket } = await world.upstream.next();
    await once(client, 'open');
    socket.pause();
    expect(await closeOf(client)).toMatchObject({ code: 1014 });
    ws.terminate();
    let asked = 0;
    lively.ws.on('ping', () => (asked += 1));
    await eventually(() => asked >= 3);
    expect(lively.client.readyState).toBe(WebSocket.OPEN);
    lively.client.close();
  });

  it('closes both sides at the end of their time', async () => {
    const { ws, client } = await world.tunnel('/short');
    expect(await Promise.all([closeOf(client), closeOf(ws)])).toMatchObject([{ code: 1001 }, { code: 1001 }]);
  });

  it('writes one line for a socket, when it is over', async () => {
    const headers = { 'x-request-id': 'counted' };
    const { ws, client } = await world.tunnel('/console', { headers });
    const heard = Promise.all([messageOf(ws), messageOf(client)]);
    client.send('12345');
    ws.send('123');
    await heard;
    ws.close(1000);
    await closeOf(client);
    const lost = await world.tunnel('/console', { headers: { 'x-request-id': 'lost' } });
    lost.ws.terminate();
    await closeOf(lost.client);
    await world.slotsFree();
    const lines = (id: string) => world.gateway.logs().filter((line) => line['request_id'] === id);
    const tunnel = { route: '/console', upstream: 'console', method: 'GET', status: 101 };
    await eventually(() => lines('lost').length > 0);
    expect(lines('counted')).toMatchObject([{ ...tunnel, outcome: 'ok', request_bytes: 5, response_bytes: 3 }]);
    expect(lines('lost')).toMatchObject([{ ...tunnel, outcome: 'reset', reason: 'upstream_failed' }]);
  });

  it('survives a client that goes away while it is answered', async () => {
    const clients = await Promise.all(
      Array.from({ length: 8 }, () => RawSocketClient.open(world.gateway.port, handshakeBytes('/console'))),
    );
    for (const client of clients) client.socket.resetAndDestroy();
    await world.slotsFree();
    expect((await fetch(`${world.gateway.origin}/healthz`)).status).toBe(200);
  });
});
