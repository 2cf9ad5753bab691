import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { CHAT, chatBody, closedInTime, expectProblem } from '../support/edge-world.js';
import { IdentityProvider, issuerKey } from '../support/identity-provider.js';
import { IdentityWorld } from '../support/identity-world.js';
import { requestBytes, type RawConnection } from '../support/raw-client.js';
import { closeOf } from '../support/socket-upstream.js';
import { eventually, SocketWorld } from '../support/socket-world.js';
import { jsonAnswer } from '../support/wire-upstream.js';

const JSON_TYPE = { 'content-type': 'application/json' };

describe('what is decided from the head alone', () => {
  let world: IdentityWorld;
  let connections: RawConnection[] = [];

  beforeAll(async () => {
    world = await IdentityWorld.start();
  }, 60_000);
  afterAll(() => world.stop());
  afterEach(() => {
    for (const connection of connections) connection.destroy();
    connections = [];
  });

  /** Sends a head that announces a body, and nothing of the body. */
  async function announce(headers: Record<string, string>, bytes = 500_000): Promise<RawConnection> {
    const connection = await world.edge.connect();
    connections.push(connection);
    const length = { ...JSON_TYPE, 'content-length': String(bytes), ...headers };
    connection.send(requestBytes({ method: 'POST', path: CHAT, headers: length }));
    return connection;
  }

  it.each<[string, () => Promise<Record<string, string>>, number]>([
    ['no token', () => Promise.resolve({}), 401],
    ['a bad token', () => Promise.resolve({ authorization: 'Bearer nonsense' }), 401],
    [
      'a token without the scope',
      async () => ({ authorization: `Bearer ${await world.identity.token('svc-chat', 'queue:send')}` }),
      403,
    ],
  ])('C11: %s and a large body: answered before a byte of it has come, and closed', async (_, headers, status) => {
    const connection = await announce(await headers());
    const answer = await connection.response({ method: 'POST' });
    expectProblem(answer, status);
    await closedInTime(connection);
    expect(world.served).toBe(0);
  });

  it('C11: the answer arrives although the client goes on sending', async () => {
    const connection = await announce({}, 3_000_000);
    connection.send(Buffer.alloc(400_000, 'x'));
    expectProblem(await connection.response({ method: 'POST' }), 401);
    await closedInTime(connection);
  });

  it('C8: 100 Continue comes after token and scope, and never before a refusal', async () => {
    const expecting = { expect: '100-continue' };
    for (const [credential, status] of [
      [{}, 401],
      [{ authorization: 'Bearer nonsense' }, 401],
      [{ authorization: `Bearer ${await world.identity.token('svc-chat', 'queue:send')}` }, 403],
    ] as const) {
      const connection = await announce({ ...expecting, ...credential });
      const said: Buffer[] = [];
      connection.socket.on('data', (bytes: Buffer) => said.push(bytes));
      const answer = await connection.response({ method: 'POST' });
      expectProblem(answer, status);
      expect(Buffer.concat(said).toString('latin1')).not.toContain('100 Continue');
    }
    const token = await world.identity.token('svc-chat');
    const body = chatBody('continued');
    const connection = await announce({ ...expecting, authorization: `Bearer ${token}` }, body.length);
    const [first] = (await once(connection.socket, 'data')) as [Buffer];
    expect(first.toString('latin1')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    connection.send(body);
    const [second] = (await once(connection.socket, 'data')) as [Buffer];
    expect(second.toString('latin1')).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it('a connection may go on after a refusal that left nothing unread', async () => {
    const connection = await world.edge.connect();
    connections.push(connection);
    connection.send(requestBytes({ method: 'GET', path: '/v1/models' }));
    expectProblem(await connection.response(), 401);
    const token = await world.identity.token('svc-chat');
    connection.send(requestBytes({ method: 'GET', path: '/v1/models', headers: { authorization: `Bearer ${token}` } }));
    expect((await connection.response()).status).toBe(200);
  });

  it('T14: a stream runs to its end past exp, and its connection takes no new request with that token', async () => {
    const now = Math.floor(Date.now() / 1000);
    // The tolerance is five seconds.
    const exp = now - 3;
    const token = await world.identity.sign({ exp });
    const usual = world.edge.upstream.answer;
    world.edge.upstream.answer = (_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n');
      const event = (text: string): string => {
        const data = `data: {"choices":[{"index":0,"delta":{"content":"${text}"}}]}\n\n`;
        return `${data.length.toString(16)}\r\n${data}\r\n`;
      };
      socket.write(event('before'));
      setTimeout(() => {
        const done = 'data: [DONE]\n\n';
        socket.write(`${event('after')}${done.length.toString(16)}\r\n${done}\r\n0\r\n\r\n`);
      }, 3500);
      return undefined;
    };
    const connection = await world.edge.connect();
    connections.push(connection);
    const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` };
    connection.send(requestBytes({ method: 'POST', path: CHAT, headers, body: chatBody('x', { stream: true }) }));
    const stream = await connection.response({ method: 'POST' });
    world.edge.upstream.answer = usual;
    expect(Date.now()).toBeGreaterThan((exp + 5) * 1000);
    expect(stream.text()).toContain('after');
    expect(stream.text()).toMatch(/data: \[DONE\]\n\n$/);
    connection.send(requestBytes({ method: 'POST', path: CHAT, headers, body: chatBody('x') }));
    expectProblem(await connection.response({ method: 'POST' }), 401);
  });

  it('an upstream that is asked answers as ever', async () => {
    world.edge.upstream.answer = () => jsonAnswer({ choices: [{ message: { role: 'assistant', content: 'ok' } }] });
    expect((await world.chat(await world.identity.token('svc-chat'))).status).toBe(200);
  });
});

describe('sockets with auth on', () => {
  let identity: IdentityProvider;
  let world: SocketWorld;

  beforeAll(async () => {
    identity = await IdentityProvider.start(['svc-chat'], await issuerKey('first'));
    const socket = { ping: '30s', missedPongs: 2, perTenant: 1, origins: ['https://console.example'] };
    world = await SocketWorld.start(
      [
        { prefix: '/console', upstream: 'console', websocket: true, more: { tokenHeader: 'x-authentik-jwt' } },
        { prefix: '/gpu', upstream: 'console', websocket: true, more: { group: 'gpu' } },
        { prefix: '/open', upstream: 'console', websocket: true, more: { scope: 'public' } },
        { prefix: '/strict', upstream: 'console', websocket: true, more: { socket } },
        {
          prefix: '/short',
          upstream: 'console',
          websocket: true,
          more: { timeouts: { connect: '2s', read: '10s', write: '10s', total: '4s' } },
        },
      ],
      { auth: { enabled: true, issuers: [identity.section], groupsClaim: 'groups' } },
    );
  }, 60_000);
  afterAll(async () => {
    await world.stop();
    await identity.stop();
  });
  afterEach(() => world.slotsFree());

  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

  it('W1: without a token, with a bad one or without the right: 401 and 403, and the upstream sees nothing', async () => {
    const before = world.upstream.requests.length;
    expect(await world.refusal('/console/x')).toMatchObject({ status: 401, problem: { status: 401 } });
    expect(await world.refusal('/console/x', bearer('nonsense'))).toMatchObject({ status: 401 });
    expect(await world.refusal('/console/x?access_token=x')).toMatchObject({ status: 401 });
    const lacking = await identity.token('svc-chat', 'llm:chat');
    expect(await world.refusal('/console/x', bearer(lacking))).toMatchObject({
      status: 403,
      problem: { scope: 'proxy:use' },
    });
    const groupless = await identity.token('svc-chat');
    expect(await world.refusal('/gpu/x', bearer(groupless))).toMatchObject({ status: 403, problem: { group: 'gpu' } });
    expect(world.upstream.requests.length).toBe(before);
  });

  it('W1: a refused handshake says why and closes, even if the client stays', async () => {
    const client = await world.raw('/console/x');
    await client.end();
    const { text } = await client.head();
    client.socket.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 401 [\s\S]*www-authenticate: Bearer\r\n/i);
  });

  it('opens with a token, by Bearer or in the header that the ingress fills, which the upstream does not see', async () => {
    const token = await identity.token('svc-chat');
    for (const headers of [{ authorization: `Bearer ${token}` }, { 'x-authentik-jwt': token }]) {
      const { client, request } = await world.tunnel('/console/x', { headers });
      expect(JSON.stringify(request.headers)).not.toContain(token.slice(-20));
      client.close();
      await once(client, 'close');
    }
    const open = await world.tunnel('/open/x');
    open.client.close();
    await once(open.client, 'close');
  });

  it('W8: Origin is checked for whoever has a token too', async () => {
    const token = await identity.token('svc-chat');
    const headers = { authorization: `Bearer ${token}`, origin: 'https://evil.example' };
    expect(await world.refusal('/strict/x', { headers })).toMatchObject({ status: 403 });
  });

  it('W9: seats are counted by the tenant of the token', async () => {
    const one = await identity.sign({ sub: 'one' });
    const { client } = await world.tunnel('/strict/x', bearer(one));
    expect(
      (await world.refusal('/strict/x', bearer(await identity.sign({ sub: 'one', jti: 'again' })))).status,
    ).toBeGreaterThanOrEqual(400);
    const other = await world.tunnel('/strict/x', bearer(await identity.sign({ sub: 'two' })));
    for (const each of [client, other.client]) {
      each.close();
      await once(each, 'close');
    }
  });

  it('T14, W10: a socket outlives its token, and is closed with 1001 at the longest life', async () => {
    const exp = Math.floor(Date.now() / 1000) - 3;
    const token = await identity.sign({ exp });
    const { client } = await world.tunnel('/short/x', bearer(token));
    const closed = closeOf(client);
    let expired = false;
    while (!expired) {
      expired = Date.now() >= (exp + 5) * 1000;
      await delay(50);
    }
    expect(client.readyState).toBe(client.OPEN);
    expect((await world.refusal('/short/x', bearer(token))).status).toBe(401);
    expect(await closed).toMatchObject({ code: 1001 });
    await eventually(() => client.readyState === client.CLOSED);
  });
});
