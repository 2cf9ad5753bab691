import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import type { JsonObject } from '../support/json.js';
import { ENGINES_HOST, EngineNames } from '../support/load-names.js';
import { frame, handshakeBytes, OPCODE, RawSocketClient } from '../support/raw-socket-client.js';
import { closeOf, messageOf, SocketUpstream } from '../support/socket-upstream.js';
import { eventually, MiB, SocketWorld } from '../support/socket-world.js';
import { startGateway } from '../support/start-gateway.js';

/** How a WebSocket comes about, and how it does not. */
describe('WebSocket handshake', () => {
  let world: SocketWorld;

  beforeAll(async () => {
    const socket = { ping: '30s', missedPongs: 2, perTenant: 2, origins: ['https://console.example'] };
    world = await SocketWorld.start(
      [
        { prefix: '/console', upstream: 'console', websocket: true },
        {
          prefix: '/kept',
          upstream: 'console',
          websocket: true,
          more: { stripPrefix: false, forward: ['cookie', 'set-cookie'] },
        },
        { prefix: '/plain', upstream: 'console' },
        { prefix: '/refusing', upstream: 'refusing', websocket: true },
        { prefix: '/strict', upstream: 'console', websocket: true, more: { socket } },
        {
          prefix: '/hasty',
          upstream: 'console',
          websocket: true,
          more: { timeouts: { connect: '200ms', read: '10s', write: '10s' } },
        },
      ],
      { slots: { limit: 3, perEndpoint: 3 } },
    );
  }, 60_000);

  afterAll(() => world.stop());

  afterEach(async () => {
    world.answer = undefined;
    await world.slotsFree();
  });

  it.each([
    ['an unknown path', '/nowhere', {}, 'GET', 404],
    ['a prefix without WebSocket', '/plain/x', {}, 'GET', 404],
    ['a path of the API', '/v1/chat/completions', {}, 'GET', 404],
    ['an old version', '/console', { 'sec-websocket-version': '8' }, 'GET', 426],
    ['no version', '/console', { 'sec-websocket-version': undefined }, 'GET', 400],
    ['no key', '/console', { 'sec-websocket-key': undefined }, 'GET', 400],
    ['a short key', '/console', { 'sec-websocket-key': 'c2hvcnQ=' }, 'GET', 400],
    ['a key that is not base64', '/console', { 'sec-websocket-key': '****************************' }, 'GET', 400],
    ['h2c', '/console', { upgrade: 'h2c' }, 'GET', 400],
    ['several protocols', '/console', { upgrade: 'websocket, h2c' }, 'GET', 400],
    ['a body', '/console', { 'content-length': '5' }, 'GET', 400],
    ['a repeated subprotocol', '/console', { 'sec-websocket-protocol': 'a, a' }, 'GET', 400],
    ['white space that is none', '/console', { 'sec-websocket-protocol': 'a,\xa0b' }, 'GET', 400],
    ['another method', '/console', {}, 'POST', 405],
    ['an encoded slash', '/console/%2e%2e%2fadmin', {}, 'GET', 400],
    ['a foreign page', '/strict', { origin: 'https://evil.example' }, 'GET', 403],
    ['a sandboxed page', '/strict', { origin: 'null' }, 'GET', 403],
    ['a page whose address begins alike', '/strict', { origin: 'https://console.example.evil' }, 'GET', 403],
  ])('refuses %s without asking the upstream, and closes', async (_, path, fields, method, status) => {
    const asked = world.upstream.requests.length;
    const client = await RawSocketClient.open(world.gateway.port, handshakeBytes(path, fields, method));
    const head = await client.head();
    await client.end();
    expect(head.status).toBe(status);
    expect(head.text.toLowerCase()).toContain('content-type: application/problem+json');
    expect(head.text.toLowerCase().includes('sec-websocket-version: 13')).toBe(status === 426);
    expect(JSON.parse(client.body())).toMatchObject({ status });
    expect(world.upstream.requests).toHaveLength(asked);
  });

  it('lets the configured page in, and what is no page', async () => {
    const page = await world.tunnel('/strict', { origin: 'https://console.example' });
    const program = await world.tunnel('/strict');
    expect(page.request.headers.origin).toBe('https://console.example');
    expect(program.request.headers.origin).toBeUndefined();
    page.client.close();
    program.client.close();
  });

  it('shows the upstream its own target and host, and neither credentials nor identities', async () => {
    const headers = {
      authorization: 'Bearer secret',
      cookie: 'a=b',
      'x-api-key': 'k',
      x_llmgw_band: 'platinum',
      'x-authentik-username': 'root',
      'x-forwarded-for': '10.1.2.3',
      'x-custom': 'stays',
    };
    const { request, client } = await world.tunnel('/console/shell/a%20b?cols=80', { headers });
    expect(request.url).toBe('/shell/a%20b?cols=80');
    expect(request.headers).toMatchObject({ host: new URL(world.upstream.url).host, 'x-custom': 'stays' });
    expect(request.headers['x-forwarded-for']).toBe('10.1.2.3, 127.0.0.1');
    for (const name of [
      'authorization',
      'cookie',
      'x-api-key',
      'x_llmgw_band',
      'x-authentik-username',
      'sec-websocket-extensions',
    ]) {
      expect(request.headers).not.toHaveProperty(name);
    }
    client.close();
  });

  it('keeps the prefix and the cookies where the configuration says so', async () => {
    const { request, client } = await world.tunnel('/kept/shell', { headers: { cookie: 'a=b' } });
    expect(request.url).toBe('/kept/shell');
    expect(request.headers.cookie).toBe('a=b');
    client.close();
  });

  it('confirms the subprotocol that the upstream has chosen, or none', async () => {
    const some = await world.tunnel('/console', { protocols: ['other', 'chosen'] });
    expect(some.request.headers['sec-websocket-protocol']).toBe('other, chosen');
    expect(some.client.protocol).toBe('chosen');
    some.client.close();
    const none = await world.raw('/console', { 'sec-websocket-protocol': 'other' });
    const head = await none.head();
    expect(head.status).toBe(101);
    expect(head.text.toLowerCase()).not.toContain('sec-websocket-protocol');
    expect(head.text.toLowerCase()).toContain('x-request-id: ');
    none.socket.destroy();
    (await world.upstream.next()).ws.terminate();
  });

  it.each([
    ['not found', 'HTTP/1.1 404 Not Found\r\ncontent-length: 0', 502, 'upstream-invalid'],
    ['an ordinary answer', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi', 502, 'upstream-invalid'],
    [
      'unauthorized',
      'HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Basic\r\ncontent-length: 0',
      502,
      'upstream-refused-us',
    ],
    [
      'a redirect',
      'HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0',
      502,
      'upstream-refused-us',
    ],
    ['a wrong accept value', `${switching('websocket')}\r\nsec-websocket-accept: AAAA`, 502, 'upstream-invalid'],
    ['another protocol', switching('h2c'), 502, 'upstream-invalid'],
    ['no protocol', 'HTTP/1.1 101 Switching Protocols', 502, undefined],
    ['what is not HTTP', 'SSH-2.0-OpenSSH', 502, 'upstream-invalid'],
  ])('tunnels nothing to an upstream that answers with %s', async (_, head, status, code) => {
    const heard: Buffer[] = [];
    world.answer = (_request, socket) => {
      socket.on('data', (bytes) => heard.push(bytes));
      socket.write(`${head}\r\n\r\n`);
    };
    const client = await world.raw('/console');
    const answer = await client.head();
    client.send(frame({ opcode: OPCODE.text, payload: 'late' }));
    await client.end();
    expect(answer.status).toBe(status);
    expect(JSON.parse(client.body())).toMatchObject({
      status,
      ...(code !== undefined && { type: `https://gateway.test/problems/${code}` }),
    });
    expect(Buffer.concat(heard).toString()).toBe('');
  });

  it('answers 502 where nobody listens, and 504 where nobody answers in time', async () => {
    world.answer = () => undefined;
    expect(await world.refusal('/refusing')).toMatchObject({ status: 502, problem: { status: 502 } });
    expect(await world.refusal('/hasty')).toMatchObject({ status: 504, problem: { status: 504 } });
  });

  it('delivers frames that came with the handshake, once and in order', async () => {
    const client = await world.raw('/console', {}, { opcode: OPCODE.text, payload: 'first' });
    const { ws } = await world.upstream.next();
    const heard: string[] = [];
    ws.on('message', (data: Buffer) => heard.push(data.toString()));
    client.send(frame({ opcode: OPCODE.text, payload: 'second' }));
    await eventually(() => heard.length === 2);
    expect(heard).toEqual(['first', 'second']);
    client.socket.destroy();
  });

  it('delivers 300 frames that came before the answer, once and in order', async () => {
    world.answer = (request, socket, head) => {
      setTimeout(() => world.upstream.accept(request, socket, head), 300);
    };
    const frames = Array.from({ length: 300 }, (_, i) => ({ opcode: OPCODE.text, payload: String(i).padEnd(1000) }));
    const client = await world.raw('/console', {}, ...frames.slice(0, 150));
    client.send(...frames.slice(150).map(frame));
    const { ws } = await world.upstream.next();
    const heard: number[] = [];
    ws.on('message', (data: Buffer) => heard.push(Number(data.toString())));
    await eventually(() => heard.length === 300);
    expect(heard).toEqual(frames.map((_, i) => i));
    client.socket.destroy();
  });

  it('delivers what the upstream says first', async () => {
    world.answer = (request, socket, head) => {
      world.upstream.accept(request, socket, head, ({ ws }) => ws.send('welcome'));
    };
    const client = world.dial('/console');
    expect(await messageOf(client)).toBe('welcome');
    client.close();
    await closeOf(client);
  });

  it('gives the handshake up, and its slot, when the client leaves', async () => {
    let left = false;
    world.answer = (_request, socket) => {
      socket.resume();
      // It may be ended or reset.
      socket.once('error', () => (left = true));
      socket.once('end', () => (left = true));
    };
    const client = await world.raw('/console');
    await eventually(async () => (await world.slotsInUse()) === 1);
    client.socket.destroy();
    await eventually(() => left);
    await world.slotsFree();
  });

  it('holds a slot for each socket, and no more sockets of a tenant than it may have', async () => {
    const first = await world.tunnel('/strict');
    const second = await world.tunnel('/strict');
    expect(await world.slotsInUse()).toBe(2);
    expect(await world.refusal('/strict')).toMatchObject({ status: 429 });
    first.client.close();
    await eventually(async () => (await world.slotsInUse()) === 1);
    const third = await world.tunnel('/strict');
    second.client.close();
    third.client.close();
    await Promise.all([once(second.client, 'close'), once(third.client, 'close')]);
  });

  it.each(['with a FIN', 'with a reset'])(
    'forgets whoever has sent much before the answer and leaves %s, queued or being opened',
    async (how) => {
      let left = false;
      world.answer = (_request, socket) => {
        socket.resume();
        // It may be ended or reset.
        socket.once('error', () => (left = true));
        socket.once('end', () => (left = true));
      };
      const leave = ({ socket }: RawSocketClient): unknown =>
        how === 'with a FIN' ? socket.destroy() : socket.resetAndDestroy();
      const holders = [await dialling(), await dialling(), await dialling()];
      const queued = await dialling();
      await eventually(async () => (await queueDepth()) === 1);
      leave(queued);
      await eventually(async () => (await queueDepth()) === 0);
      const asked = world.upstream.requests.length;
      holders.forEach(leave);
      await eventually(() => left);
      await world.slotsFree();
      expect(world.upstream.requests).toHaveLength(asked);

      function dialling(): Promise<RawSocketClient> {
        return world.raw('/console', {}, { opcode: OPCODE.binary, payload: Buffer.alloc(400_000) });
      }
    },
  );

  it('turns away whoever sends without end before the answer, and leaves the upstream', async () => {
    let left = false;
    const asked = Promise.withResolvers<undefined>();
    world.answer = (_request, socket) => {
      asked.resolve(undefined);
      socket.resume();
      socket.once('error', () => (left = true));
      socket.once('end', () => (left = true));
    };
    const seen = world.gateway.logs().length;
    const client = await world.raw('/console');
    await asked.promise;
    client.send(frame({ opcode: OPCODE.binary, payload: Buffer.alloc(2 * MiB) }));
    const head = await client.head();
    await client.end();
    expect(head.status).toBe(400);
    expect(JSON.parse(client.body())).toMatchObject({
      status: 400,
      detail: expect.stringContaining('before') as string,
    });
    await eventually(() => left);
    const lines = (): JsonObject[] => world.gateway.logs().slice(seen);
    const told = { msg: 'request rejected', status: 400, reason: 'invalid_request_head', outcome: 'cancelled' };
    await eventually(() => lines().some(({ status }) => status === 400));
    expect(lines()).toContainEqual(expect.objectContaining(told));
  });

  it('lets a socket wait for its slot, and forgets one that leaves the queue', async () => {
    const holders = [await world.tunnel('/console'), await world.tunnel('/console'), await world.tunnel('/console')];
    const asked = world.upstream.requests.length;
    const leaver = await world.raw('/console');
    const waiter = world.dial('/console');
    await eventually(async () => (await queueDepth()) === 2);
    leaver.socket.destroy();
    await eventually(async () => (await queueDepth()) === 1);
    holders[0]?.client.close();
    await Promise.all([once(waiter, 'open'), world.upstream.next()]);
    expect(world.upstream.requests).toHaveLength(asked + 1);
    for (const { client } of holders) client.close();
    waiter.close();
  });

  const queueDepth = (): Promise<number | undefined> =>
    world.gateway.metric('admission_queue_depth', { upstream: 'console' });
});

function switching(protocol: string): string {
  return `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${protocol}`;
}

describe('WebSocket to an upstream of several endpoints', () => {
  it('passes one over that refuses, and asks the next by the name of the upstream, with its credential', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'socket-key-'));
    const credentialFile = join(folder, 'key');
    writeFileSync(credentialFile, 'engine-key\n');
    const upstream = await SocketUpstream.start({ host: '127.0.0.2' });
    const names = await EngineNames.start(['127.0.0.1', '127.0.0.2']);
    const authority = `${ENGINES_HOST}:${String(upstream.port)}`;
    const more = { discover: 'dns', credentialFile };
    const gateway = await startGateway(
      {
        upstreams: [{ name: 'console', url: `http://${authority}`, engine: 'http', more }],
        proxies: [{ prefix: '/console', upstream: 'console', websocket: true }],
      },
      names.how,
    );
    try {
      const headers = { authorization: 'Bearer of-the-caller' };
      const client = new WebSocket(`ws://127.0.0.1:${String(gateway.port)}/console/x`, { headers });
      const [accepted] = await Promise.all([upstream.next(), once(client, 'open')]);
      expect(accepted.request.headers).toMatchObject({ host: authority, authorization: 'Bearer engine-key' });
      client.close();
    } finally {
      await gateway.stop();
      await upstream.stop();
      await names.stop();
      rmSync(folder, { recursive: true });
    }
  });
});
