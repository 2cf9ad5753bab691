import { CHAT, chatBody, contentOf, EdgeWorld, expectProblem } from '../support/edge-world.js';
import { completionOf, jsonAnswer } from '../support/wire-upstream.js';

type Fields = readonly (readonly [string, string])[];
const JSON_FIELD: Fields[number] = ['content-type', 'application/json'];
/** What an engine is sent, and nothing else. */
const ENGINE_FIELDS = [
  'host',
  'connection',
  'content-type',
  'content-length',
  'x-request-id',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
];
const BOTH = [[CHAT], ['/plain/x']];

describe('header fields', () => {
  let world: EdgeWorld;
  let stranger: EdgeWorld;

  beforeAll(async () => {
    world = await EdgeWorld.start({ auth: { bandHeader: 'x-lane', tenantHeader: 'x-who' } });
    stranger = await EdgeWorld.start({ server: { trustedProxies: ['192.0.2.1/32'] } });
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    await stranger.stop();
  });

  beforeEach(() => {
    world.upstream.requests = [];
  });

  /** The fields of a request as the upstream sees them. */
  const crossing = async (path: string, fields: Fields, at = world): Promise<Map<string, string>> => {
    const response = await at.ask({ method: 'POST', path, headers: [JSON_FIELD, ...fields], body: chatBody('fields') });
    expect(response.status).toBe(200);
    expect(contentOf(response)).toBe('mark-fields');
    const { lastRequest } = at.upstream;
    expect(new Set(lastRequest.fields.map(([name]) => name)).size).toBe(lastRequest.fields.length);
    return new Map(lastRequest.fields);
  };

  describe.each(BOTH)('of a request to %s', (path) => {
    // prettier-ignore
    it.each([
      ['Connection', 'keep-alive, X-Named, x-other'], ['Keep-Alive', 'timeout=5'], ['Proxy-Connection', 'keep-alive'],
      ['Proxy-Authorization', 'Basic evil'], ['Proxy-Authenticate', 'Basic'], ['TE', 'trailers'], ['Trailer', 'X-A'],
      ['HTTP2-Settings', 'AAMAAABkAAQAAP__'], ['Expect', '100-continue'], ['proxy_authorization', 'Basic evil'],
    ])('H1: %s stays here', async (name, value) => {
      const fields = await crossing(path, [[name, value], ['X-Named', 'evil'], ['X-Other', 'evil']]);
      if (name === 'Connection') {
        expect(fields.has('x-named') || fields.has('x-other')).toBe(false);
        expect(fields.get('connection')).toBe('keep-alive');
      } else expect(fields.has(name.toLowerCase())).toBe(false);
    });

    // prettier-ignore
    it('H1: fields named in any of several Connection lines stay here', async () => {
      const fields = await crossing(path, [
        ['Connection', 'keep-alive'], ['Connection', 'user-agent,  ACCEPT'], ['Connection', 'X-Third'],
        ['User-Agent', 'evil'], ['Accept', 'evil/evil'], ['X-Third', 'evil'], ['X-Fourth', 'fine'],
      ]);
      expect([...fields.values()].filter((value) => value.startsWith('evil'))).toEqual([]);
      expect(fields.get('x-fourth')).toBe(path === CHAT ? undefined : 'fine');
    });

    it('H2: a field that the gateway needs crosses though Connection names it', async () => {
      const needed =
        'host, content-type, content-length, x-request-id, traceparent, x-forwarded-for, transfer-encoding';
      const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const fields = await crossing(path, [
        ['Connection', needed],
        ['X-Request-Id', 'mine'],
        ['Traceparent', trace],
      ]);
      expect(fields.get('host')).toBe(world.upstream.authority);
      expect(fields.get('content-type')).toBe('application/json');
      expect(fields.get('content-length')).toBe(String(chatBody('fields').length));
      expect(fields.get('x-request-id')).toBe('mine');
      expect(fields.get('traceparent')).toContain('0af7651916cd43dd8448eb211c80319c');
      expect(fields.get('x-forwarded-for')).toBe('127.0.0.1');
    });

    // prettier-ignore
    it('H5, H6, H7, H9: nothing that says who calls, or where to, crosses in any spelling', async () => {
      const names = [
        'x-llmgw-band', 'x-llmgw-session', 'x-lane', 'x-who', 'x-tenant', 'x-tenant-id', 'x-user', 'x-user-id', 'x-username',
        'x-scope', 'x-scopes', 'x-priority', 'x-band', 'x-role', 'x-roles', 'x-groups', 'x-remote-user', 'remote-user',
        'x-authentik-username', 'x-authentik-jwt', 'x-auth-request-user', 'x-consumer-id', 'x-consumer-custom-id',
        'x-forwarded-user', 'x-forwarded-access-token', 'x-credential-identifier', 'x-anonymous-consumer', 'x-upstream',
        'authorization', 'cookie', 'x-api-key', 'api-key', 'apikey', 'x-auth-token', 'x-access-token', 'x-goog-api-key',
        'x-original-url', 'x-rewrite-url', 'x-http-method-override', 'x-method-override', 'x-forwarded-prefix', 'x-original-method',
        'x-real-ip', 'x-client-ip', 'true-client-ip', 'cf-connecting-ip', 'x-cluster-client-ip', 'x-envoy-original-path', 'x-proxy-user',
      ];
      const spelled = [...names, ...names.filter((name) => name.includes('-')).map((name) => name.replaceAll('-', '_'))];
      for (let at = 0; at < spelled.length; at += 40) {
        const part = spelled.slice(at, at + 40);
        const fields = await crossing(path, part.map((name) => [name, 'evil']));
        expect([...fields].filter(([, value]) => value.includes('evil'))).toEqual([]);
        expect(part.filter((name) => fields.has(name))).toEqual([]);
      }
    });
  });

  it('H1: another protocol that is asked for on a path of the API is ignored', async () => {
    const fields = await crossing(CHAT, [
      ['Connection', 'Upgrade, HTTP2-Settings'],
      ['Upgrade', 'h2c'],
      ['HTTP2-Settings', 'AAMA'],
    ]);
    expect([...fields.keys()].sort()).toEqual([...ENGINE_FIELDS].sort());
  });

  it('H7: an engine sees an allow-list, a prefix everything that is not withheld', async () => {
    const custom: Fields = [
      ['X-Custom', 'a'],
      ['Accept-Language', 'de'],
      ['Range', 'bytes=0-1'],
      ['If-None-Match', '"x"'],
      ['OpenAI-Beta', 'v2'],
    ];
    expect([...(await crossing(CHAT, custom)).keys()].sort()).toEqual([...ENGINE_FIELDS].sort());
    const plain = await crossing('/plain/x', custom);
    expect(custom.map(([name]) => plain.get(name.toLowerCase()))).toEqual(custom.map(([, value]) => value));
  });

  it('H6: a prefix lets through the credentials that it names, and no others', async () => {
    const fields = await crossing('/kept/x', [
      ['Cookie', 'a=b'],
      ['Authorization', 'Bearer evil'],
    ]);
    expect(fields.get('cookie')).toBe('a=b');
    expect(fields.has('authorization')).toBe(false);
  });

  describe('H8: forwarding fields', () => {
    // prettier-ignore
    const claims: Fields = [
      ['X-Forwarded-For', '203.0.113.9'], ['X-Forwarded-Proto', 'https'], ['X-Forwarded-Host', 'public.test'], ['X-Real-IP', '203.0.113.9'],
      ['Forwarded', 'for=203.0.113.9;proto=https'], ['X-Forwarded-Port', '1'], ['X-Forwarded-Server', 'evil'],
    ];

    it.each(BOTH)('are believed from a trusted proxy and extended: %s', async (path) => {
      const fields = await crossing(path, [['host', 'gateway.test'], ...claims]);
      expect(fields.get('x-forwarded-for')).toBe('203.0.113.9, 127.0.0.1');
      expect(fields.get('x-forwarded-proto')).toBe('https');
      expect(fields.get('x-forwarded-host')).toBe('public.test');
      expect(fields.get('forwarded')).toBe('for=203.0.113.9;proto=https, for=127.0.0.1');
      expect(['x-real-ip', 'x-forwarded-port', 'x-forwarded-server'].some((name) => fields.has(name))).toBe(false);
    });

    it.each(BOTH)('of anybody else are replaced: %s', async (path) => {
      const fields = await crossing(path, [['host', 'gateway.test'], ...claims], stranger);
      expect(fields.get('x-forwarded-for')).toBe('127.0.0.1');
      expect(fields.get('x-forwarded-proto')).toBe('http');
      expect(fields.get('x-forwarded-host')).toBe('gateway.test');
      expect(JSON.stringify([...fields])).not.toContain('203.0.113.9');
      expect([...fields.keys()].filter((name) => /^forwarded|real-ip|-port|-server/.test(name))).toEqual([]);
    });

    it('H5: band and tenant of a stranger count for nothing', async () => {
      const response = await stranger.ask({
        method: 'POST',
        path: CHAT,
        body: chatBody('who'),
        headers: [JSON_FIELD, ['x-llmgw-session', 'evil'], ['x-llmgw-band', 'platinum']],
      });
      await stranger.logged(response);
      const line = stranger.gateway.logs().find((each) => each['request_id'] === response.header('x-request-id'));
      expect(line).toMatchObject({ tenant: 'anonymous', band: 'gold' });
    });

    it.each([
      ['platinum', 'gold'],
      ['gold', 'gold'],
      ['bronze', 'bronze'],
      ['diamond', 'bronze'],
      ['', 'bronze'],
    ])('H5: the band %j of a trusted proxy only ever lowers: %s', async (asked, band) => {
      const headers: Fields = [JSON_FIELD, ['x-lane', asked], ['x-who', 'acme']];
      const response = await world.ask({ method: 'POST', path: CHAT, body: chatBody('who'), headers });
      await world.logged(response);
      const line = world.gateway.logs().find((each) => each['request_id'] === response.header('x-request-id'));
      expect(line).toMatchObject({ tenant: 'acme', band });
    });

    it('a network so wide that it holds ordinary pods is warned about at start', async () => {
      const wide = await EdgeWorld.start({ server: { trustedProxies: ['10.0.0.0/7', '127.0.0.1/32'] } });
      await wide.stop();
      expect(wide.gateway.output()).toMatch(/trustedProxies\[0\].*so wide a network/);
      expect(wide.gateway.output()).not.toContain('trustedProxies[1]');
    });
  });

  it.each(BOTH)('H10: Host is the upstream, whatever the client says: %s', async (path) => {
    for (const host of ['evil.test', 'evil.test:80', '127.0.0.1', world.upstream.authority]) {
      expect((await crossing(path, [['Host', host]])).get('host')).toBe(world.upstream.authority);
    }
  });

  // prettier-ignore
  it.each([
    ['a-B_c.9', true], ['a'.repeat(128), true], ['a'.repeat(129), false], ['', false], ['a b', false], ['a/b', false], ['a"b', false],
    ['\u00e9', false], ['a,b', false], ['<b>', false], ['${x}', false],
  ])('H11: the request id %j is kept: %s', async (id, kept) => {
    const response = await world.ask({ method: 'POST', path: CHAT, headers: [JSON_FIELD, ['X-Request-Id', id]], body: chatBody('id') });
    const used = response.header('x-request-id') ?? '';
    expect(used === id).toBe(kept);
    expect(used).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
    expect(world.upstream.lastRequest.field('x-request-id')).toBe(used);
  });

  it('H11: two request ids are none', async () => {
    const headers: Fields = [
      ['X-Request-Id', 'one'],
      ['X-Request-Id', 'two'],
    ];
    expect((await world.ask({ method: 'GET', path: '/healthz', headers })).header('x-request-id')).toMatch(
      /^[0-9a-f-]{36}$/,
    );
  });

  describe('H12, G7: a head over its limits is refused', () => {
    const many = (count: number): Fields => Array.from({ length: count }, (_, index) => [`x-a${String(index)}`, 'b']);

    // prettier-ignore
    it.each([
      ['one field over 16 KiB', [['X-A', 'a'.repeat(17_000)]] as Fields, CHAT, 431],
      ['many fields over 16 KiB', many(90).map(([name]): Fields[number] => [name, 'a'.repeat(200)]), CHAT, 431],
      ['more than 100 fields', many(98), CHAT, 431],
      ['far more than 100 fields', many(1_500), CHAT, 431],
      ['a name over 16 KiB', [['X'.repeat(17_000), 'a']] as Fields, CHAT, 431],
      ['a target over 8 KiB', [], `${CHAT}?${'a'.repeat(8_192)}`, 414],
      ['a target over 16 KiB', [], `${CHAT}?${'a'.repeat(17_000)}`, 431],
    ])('%s', async (_, fields, path, status) => {
      const response = await world.ask({ method: 'POST', path, headers: [JSON_FIELD, ...fields], body: chatBody('big') });
      expectProblem(response, status);
      expect(response.header('connection')).toBe('close');
      expect(world.upstream.requests).toHaveLength(0);
    });

    it('and one within them crosses whole', async () => {
      const fields = await crossing('/plain/x', many(97));
      expect([...fields.keys()].filter((name) => name.startsWith('x-a'))).toHaveLength(97);
      expect((await world.post(chatBody('long'), `${CHAT}?${'a'.repeat(8_000)}`)).status).toBe(200);
    });
  });

  it('H13: what is not Latin-1 text in a field never crosses', async () => {
    const fields = await crossing('/plain/x', [
      ['X-Latin', 'caf\u00e9'],
      ['X-Tab', 'a\tb'],
    ]);
    expect(fields.get('x-latin')).toBe('caf\u00e9');
    expect(fields.get('x-tab')).toBe('a\tb');
    world.upstream.answer = (request) => jsonAnswer(completionOf(request), '200 OK', ['x-caf: caf\u00e9', 'x-fine: 1']);
    const connection = await world.connect();
    connection.send(`GET /plain/x HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect((await connection.response()).header('x-fine')).toBe('1');
    connection.destroy();
  });
});
