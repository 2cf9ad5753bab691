import { RawConnection, requestBytes } from '../support/raw-client.js';
import { PrefixWorld } from '../support/prefix-world.js';

/** What of an upstream's answer reaches the client, and how. */
describe('path prefixes: answers', () => {
  let world: PrefixWorld;

  beforeAll(async () => {
    world = await PrefixWorld.start();
  }, 60_000);

  afterAll(() => world.stop());
  beforeEach(() => world.reset());

  it('hands an answer on without what is not the client’s business', async () => {
    const withheld = [
      'set-cookie',
      'server',
      'x-powered-by',
      'x-accel-redirect',
      'alt-svc',
      'strict-transport-security',
    ];
    withheld.push(
      'www-authenticate',
      'keep-alive',
      'proxy-connection',
      'proxy-authenticate',
      'trailer',
      'upgrade',
      'x-hop',
    );
    world.answer = (_request, response) => {
      for (const name of withheld) response.setHeader(name, 'secret=1');
      response.setHeader('connection', 'x-hop');
      response.writeHead(404, { 'content-type': 'text/x-odd', etag: '"1"', 'x-odd': ['stays', 'twice'] });
      response.end('not here');
    };
    const response = await world.send({});
    expect([response.status, response.text(), response.end]).toEqual([404, 'not here', 'clean']);
    expect([response.header('etag'), response.header('x-odd'), response.header('content-type')]).toEqual([
      '"1"',
      'stays, twice',
      'text/x-odd',
    ]);
    const names = response.headers.map(([name]) => name.toLowerCase());
    // The gateway's own connection fields are not the upstream's.
    expect(names.filter((name) => withheld.includes(name) && name !== 'keep-alive')).toEqual([]);
    expect(JSON.stringify(response.headers)).not.toContain('secret');
  });

  it('lets cookies through where the configuration says so', async () => {
    world.answer = (_request, response) => response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'], server: 'x' }).end();
    const response = await world.send({ path: '/kept/x', headers: { cookie: 'a=1', authorization: 'Bearer x' } });
    expect(world.seen[0]?.headers.cookie).toBe('a=1');
    expect(world.seen[0]?.headers).not.toHaveProperty('authorization');
    expect(response.headers.filter(([name]) => name.toLowerCase() === 'set-cookie').map(([, value]) => value)).toEqual([
      'a=1',
      'b=2',
    ]);
    expect(response.header('server')).toBeUndefined();
  });

  it.each([301, 302, 303, 307, 308, 401, 403])('keeps an upstream’s %i to itself', async (status) => {
    world.answer = (_request, response) =>
      response.writeHead(status, { location: 'http://169.254.169.254/', 'www-authenticate': 'Basic' }).end();
    const response = await world.send({});
    expect(response.status).toBe(502);
    expect(response.json()).toMatchObject({ type: 'https://gateway.test/problems/upstream-refused-us' });
    expect([response.header('location'), response.header('www-authenticate')]).toEqual([undefined, undefined]);
    expect(world.seen).toHaveLength(1);
  });

  it.each([204, 304])('hands a %i on without a body, and stays in step', async (status) => {
    world.answer = (_request, response) => response.writeHead(status).end();
    const connection = await RawConnection.open(world.gateway.port);
    for (const path of ['/cut/1', '/cut/2']) {
      connection.send(requestBytes({ method: 'GET', path }));
      const response = await connection.response();
      expect([response.status, response.body.length, response.end]).toEqual([status, 0, 'clean']);
    }
    connection.destroy();
    expect(world.seen.map((one) => one.target)).toEqual(['/1', '/2']);
  });

  it('hands each piece on before the next one is written', async () => {
    let more: () => void = () => undefined;
    world.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: one\n\n');
      more = () => response.end('data: two\n\n');
    };
    const response = await world.send({ path: '/cut/events' }, { onBody: () => more() });
    expect([response.text(), response.end]).toEqual(['data: one\n\ndata: two\n\n', 'clean']);
    expect([response.header('x-accel-buffering'), response.header('cache-control')]).toEqual(['no', 'no-store']);
  });

  it('hands a head on before any of its body', async () => {
    let end: () => void = () => undefined;
    world.answer = (_request, response) => {
      response.writeHead(200).flushHeaders();
      end = () => response.end('late');
    };
    const response = await world.send({}, { onHead: () => end() });
    expect(response.text()).toBe('late');
  });

  it.each([
    ['with a length', ['content-length', '100']],
    ['in chunks', []],
  ])('shows the client that an answer %s was cut', async (_, headers) => {
    world.answer = (_request, response) => {
      response.writeHead(200, headers).write('half', () => response.destroy());
    };
    const response = await world.send({});
    expect([response.status, response.text(), response.end]).toEqual([200, 'half', 'cut']);
  });

  it('answers 502 where the upstream hangs up without a word', async () => {
    world.answer = (_request, response) => response.destroy();
    expect((await world.send({})).status).toBe(502);
    world.answer = (_request, response) => response.end('next');
    expect((await world.send({})).text()).toBe('next');
  });

  it('hangs up on the upstream when the client leaves', async () => {
    const left = Promise.withResolvers<undefined>();
    world.answer = (_request, response) => {
      response.once('close', () => left.resolve(undefined));
      response.writeHead(200).flushHeaders();
    };
    const connection = await world.ask();
    await expect(connection.response({ onHead: () => connection.destroy() })).resolves.toMatchObject({ end: 'cut' });
    await left.promise;
    expect(world.seen).toHaveLength(1);
  });
});
