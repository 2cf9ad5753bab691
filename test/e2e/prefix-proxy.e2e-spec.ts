import { PrefixWorld } from '../support/prefix-world.js';

const KiB = 1024;

/** What of a request below a prefix reaches its upstream. */
describe('path prefixes: requests', () => {
  let world: PrefixWorld;
  /** Trusts nobody that can reach it here. */
  let strict: PrefixWorld;

  beforeAll(async () => {
    world = await PrefixWorld.start();
    strict = await PrefixWorld.start({ trustedProxies: ['10.0.0.0/8'] });
  }, 60_000);

  afterAll(() => Promise.all([world.stop(), strict.stop()]));
  beforeEach(() => world.reset());

  it.each([
    ['/cut/a/b', '/a/b'],
    ['/cut', '/'],
    ['/cut/', '/'],
    [
      '/cut/a%20b/%C3%BC?q=%2f..%2f&r=a%20b&q=2&url=http://h//x',
      '/a%20b/%C3%BC?q=%2f..%2f&r=a%20b&q=2&url=http://h//x',
    ],
    ['/cut?q', '/?q'],
    ['/kept/a?b=c', '/kept/a?b=c'],
    ['/kept', '/kept'],
  ])('asks the upstream of %s for %s', async (path, target) => {
    const response = await world.send({ path });
    expect([response.status, response.text()]).toEqual([200, 'served']);
    expect(world.seen.map((one) => one.target)).toEqual([target]);
  });

  it.each([
    '/cut/../v1/models',
    '/cut/..',
    '/cut/./a',
    '/cut//a',
    '/cut/%2e%2e/admin',
    '/cut/%2E%2e%2fadmin',
    '/cut/.%2e/admin',
    '/cut/a%2fb',
    '/cut/a%5cb',
    '/cut/a\\b',
    '/cut/%252e%252e/admin',
    '/cut/a%00b',
    '/cut/a%0d%0ab',
    '/cut/%ff',
    '/cut/%zz',
    '/cut/a;b=c',
    '/cut/a#b',
    '/cut/\u00fc',
    '/cutter/x',
    '/CUT/x',
    '/c%75t/x',
    '//cut/x',
    '/x/../cut/y',
    'http://127.0.0.1/cut/x',
    '*',
  ])('never lets %j out', async (path) => {
    const response = await world.send({ path });
    expect([400, 404]).toContain(response.status);
    expect(response.header('content-type')).toBe('application/problem+json');
    expect(world.seen).toEqual([]);
  });

  it('takes the configured methods, and tells which those are', async () => {
    const head = await world.send({ method: 'HEAD' });
    expect([head.status, head.body.length, head.header('content-length')]).toEqual([200, 0, undefined]);
    const refused = await world.send({ method: 'DELETE' });
    expect([refused.status, refused.header('allow')]).toEqual([405, 'GET, POST']);
    const other = await world.send({ method: 'POST', path: '/kept/x', body: '' });
    expect([other.status, other.header('allow')]).toEqual([405, 'GET']);
    expect(world.seen.map((one) => one.method)).toEqual(['HEAD']);
  });

  it.each(['TRACE', 'PROPFIND', 'CONNECT'])('refuses %s', async (method) => {
    const response = await world.send({ method });
    expect([404, 405, 501]).toContain(response.status);
    expect(world.seen).toEqual([]);
  });

  it('hands a body on with one framing, and none where there was none', async () => {
    const body = 'a\u0000b'.repeat(1000);
    await world.send({ method: 'POST', body, headers: { 'content-type': 'text/plain' } });
    await world.send({
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked' },
      path: '/cut/c',
      body: '3\r\nabc\r\n0\r\nx-trailer: 1\r\n\r\n',
    });
    await world.send({});
    expect(world.seen.map((one) => one.body)).toEqual([body, 'abc', '']);
    expect(world.seen.map((one) => one.headers['content-length'])).toEqual(['3000', '3', undefined]);
    expect(world.seen.map((one) => one.headers['transfer-encoding'])).toEqual([undefined, undefined, undefined]);
    expect(world.seen[0]?.headers['content-type']).toBe('text/plain');
    expect(world.seen[1]?.headers).not.toHaveProperty('x-trailer');
  });

  it('refuses a body over the cap, announced or not', async () => {
    const announced = await world.send({ method: 'POST', headers: { 'content-length': String(64 * KiB + 1) } });
    const size = (20 * KiB).toString(16);
    const chunk = `${size}\r\n${'x'.repeat(20 * KiB)}\r\n`;
    const streamed = await world.send({
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked' },
      body: `${chunk.repeat(4)}0\r\n\r\n`,
    });
    for (const response of [announced, streamed]) {
      expect([response.status, response.header('connection')]).toEqual([413, 'close']);
      expect(response.json()).toMatchObject({ limit: 64 * KiB });
    }
    expect(world.seen).toEqual([]);
  });

  it('keeps the fields of the connection to itself, and what a caller calls so', async () => {
    const headers = {
      connection: 'keep-alive, x-named, TE',
      'x-named': '1',
      'keep-alive': 'timeout=5',
      'proxy-connection': 'keep-alive',
      'proxy-authorization': 'Basic eDp5',
      te: 'trailers',
      trailer: 'x-t',
      upgrade: 'h2c',
      'http2-settings': 'AAMAAABk',
      'x-plain': 'stays',
    };
    const response = await world.send({ headers });
    expect(response.status).toBe(200);
    const gone = ['x-named', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'upgrade', 'http2-settings'];
    expect(world.seen[0]?.rawNames.filter((name) => gone.includes(name))).toEqual([]);
    expect(world.seen[0]?.headers).toMatchObject({ 'x-plain': 'stays' });
  });

  it('sends its own fields whatever Connection names', async () => {
    const headers = {
      connection: 'host, content-type, content-length, x-request-id, traceparent, x-forwarded-for',
      'content-type': 'text/plain',
      'x-request-id': 'abc-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    await world.send({ method: 'POST', headers, body: 'abc' });
    expect(world.seen[0]?.headers).toMatchObject({
      host: world.upstreamHost,
      'content-type': 'text/plain',
      'content-length': '3',
      'x-request-id': 'abc-1',
      'x-forwarded-for': '127.0.0.1',
    });
    expect(world.seen[0]?.headers['traceparent']).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-/);
  });

  it('lets no credential, identity or routing field through, in any spelling', async () => {
    const names = [
      'authorization',
      'cookie',
      'x-api-key',
      'api-key',
      'x-llmgw-band',
      'x_llmgw_session',
      'x-authentik-username',
    ];
    names.push(
      'x_authentik_groups',
      'x-forwarded-user',
      'x_forwarded_user',
      'x-tenant-id',
      'x_user_id',
      'x-consumer-username',
    );
    names.push(
      'x-priority',
      'x-scopes',
      'x-original-url',
      'x-rewrite-url',
      'x-http-method-override',
      'x-forwarded-prefix',
    );
    const response = await world.send({ headers: Object.fromEntries(names.map((name) => [name, 'admin'])) });
    expect(response.status).toBe(200);
    expect(world.seen[0]?.target).toBe('/x');
    expect(world.seen[0]?.rawNames.filter((name) => names.includes(name))).toEqual([]);
    expect(JSON.stringify(world.seen[0]?.headers)).not.toContain('admin');
  });

  it('extends the forwarding fields of a trusted proxy, and replaces those of anyone else', async () => {
    const headers = {
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'api.example',
      forwarded: 'for=203.0.113.9',
      'x-real-ip': '203.0.113.9',
    };
    await world.send({ headers });
    await strict.send({ headers: { host: 'gateway.example', ...headers } });
    const [trusted] = world.seen;
    const [stranger] = strict.seen;
    expect(trusted?.headers).toMatchObject({
      'x-forwarded-for': '203.0.113.9, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'api.example',
      forwarded: 'for=203.0.113.9, for=127.0.0.1',
    });
    expect(stranger?.headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'gateway.example',
    });
    expect(JSON.stringify(stranger?.headers)).not.toContain('203.0.113.9');
    expect(trusted?.headers).not.toHaveProperty('x-real-ip');
  });
});
