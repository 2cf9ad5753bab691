import { CHAT, chatBody, EdgeWorld, expectProblem } from '../support/edge-world.js';
import { parseJson } from '../support/json.js';
import { completionOf, jsonAnswer, type WireAnswer } from '../support/wire-upstream.js';

const SECRET = 'sesame-4711';
const JSON_TYPE = { 'content-type': 'application/json' };

/** Series that tell tenants apart; they have a bound of their own. */
const withoutTenants = (metrics: string): string => metrics.replaceAll(/^admission_tenant_.*$/gm, '');

describe('what is kept secret', () => {
  let world: EdgeWorld;
  let usual: WireAnswer;

  beforeAll(async () => {
    world = await EdgeWorld.start({ telemetry: { logLevel: 'trace' } });
    usual = world.upstream.answer;
  }, 60_000);

  afterAll(() => world.stop());

  afterEach(() => {
    world.upstream.answer = usual;
  });

  /** What the gateway has printed by the time that everything before has been printed. */
  const printed = async (): Promise<string> => {
    await world.logged(await world.ask({ method: 'GET', path: '/healthz' }));
    return world.gateway.output();
  };

  describe('X1: logs at every level hold nothing of', () => {
    // prettier-ignore
    it.each([
      ['a token', { authorization: `Bearer ${SECRET}` }], ['other credentials', { authorization: `Basic ${SECRET}` }], ['a key', { 'x-api-key': SECRET }],
      ['a cookie', { cookie: `a=${SECRET}` }], ['a field', { 'user-agent': SECRET, referer: `https://a/${SECRET}`, 'x-custom': SECRET }],
      ['a request id that is none', { 'x-request-id': `${SECRET} !` }], ['a host', { host: `${SECRET}.test` }], ['a chain', { 'x-forwarded-for': SECRET }],
    ])('%s', async (_, headers) => {
      for (const path of [CHAT, '/plain/x', '/v1/nowhere', '/v1/models']) {
        await world.ask({ method: 'POST', path, headers: { ...JSON_TYPE, ...headers }, body: chatBody('x') });
      }
      expect(await printed()).not.toContain(SECRET);
    });

    // prettier-ignore
    it('a query or a path', async () => {
      for (const path of [`${CHAT}?key=${SECRET}`, `/plain/${SECRET}?q=${SECRET}`, `/${SECRET}`, `/v1/models/${SECRET}`, `/v1/%2f${SECRET}`, `/v1/models?${SECRET}`]) {
        for (const method of ['GET', 'POST', 'PROPFIND']) await world.ask({ method, path, headers: JSON_TYPE, body: chatBody('x') });
      }
      expect(await printed()).not.toContain(SECRET);
    });

    // prettier-ignore
    it.each([
      ['a prompt', chatBody('x', { user: SECRET })], ['a broken body', `{"model":"demo-chat","${SECRET}`], ['an unknown model', `{"model":"${SECRET}"}`],
      ['a wrong field', `{"model":"demo-chat","n":"${SECRET}"}`], ['a repeated key', `{"model":"${SECRET}","model":"${SECRET}"}`], ['text', SECRET],
    ])('%s', async (_, body) => {
      for (const path of [CHAT, '/v1/embeddings', '/v1/rerank', '/plain/x']) await world.post(body, path);
      expect(await printed()).not.toContain(SECRET);
    });

    // prettier-ignore
    it.each<[string, WireAnswer]>([
      ['a completion', () => jsonAnswer({ choices: [{ message: { role: 'assistant', content: SECRET } }] })],
      ['an error of the engine', () => jsonAnswer({ error: { message: SECRET, type: SECRET, code: SECRET } }, '500 X')],
      ['a refusal of the engine', () => jsonAnswer({ detail: SECRET }, '401 X', [`WWW-Authenticate: ${SECRET}`])],
      ['a redirect', () => jsonAnswer({}, '302 Found', [`Location: http://127.0.0.1:9/${SECRET}`])],
      ['an answer that is none', () => `${SECRET} ${SECRET}\r\n\r\n`],
      ['an answer with a broken head', (request) => jsonAnswer(completionOf(request), '200 OK', [SECRET])],
      ['a broken stream', (_, socket) => void socket.end(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nb\r\n${SECRET}`)],
      ['HTML', () => `HTTP/1.1 500 X\r\ncontent-type: text/html\r\ncontent-length: 11\r\n\r\n${SECRET}`],
      ['no JSON', () => `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n${SECRET}`],
    ])('%s', async (_, answer) => {
      world.upstream.answer = answer;
      for (const stream of [false, true]) await world.post(chatBody('x', { stream }));
      await world.post(chatBody('x'), '/plain/x');
      expect(await printed()).not.toContain(SECRET);
    });

    it('bytes that are not HTTP', async () => {
      for (const bytes of [
        `${SECRET}\r\n\r\n`,
        `GET /${SECRET} HTTP/9.9\r\n\r\n`,
        `GET / HTTP/1.1\r\n${SECRET}\r\n\r\n`,
        `CONNECT ${SECRET}:1 HTTP/1.1\r\nHost: a\r\n\r\n`,
      ]) {
        expectProblem(await world.refusal(bytes), 400, 405, 501, 505);
      }
      expect(await printed()).not.toContain(SECRET);
    });
  });

  it('X2: a client forges no line of the log, and fills none', async () => {
    const forged = '"},{"level":60,"msg":"forged"}';
    const names = [
      forged,
      `${forged}\\n${forged}`,
      '\\u000a{"msg":"forged"}',
      'caf\u00e9',
      'x'.repeat(4_000),
      '${jndi:ldap://a}',
    ];
    for (const name of names) {
      const headers = {
        ...JSON_TYPE,
        'x-llmgw-session': name,
        'x-llmgw-band': name,
        'x-request-id': name,
        'user-agent': name,
        traceparent: name,
      };
      await world.ask({ method: 'POST', path: CHAT, headers, body: chatBody('x') });
    }
    const lines = (await printed()).split('\n');
    for (const line of lines) {
      expect(parseJson(line)).toBeInstanceOf(Object);
      expect(line.length).toBeLessThan(2_000);
    }
    expect(world.gateway.logs().filter(({ msg }) => msg === 'forged')).toEqual([]);
  });

  describe('X3: error answers', () => {
    // prettier-ignore
    it.each<[string, WireAnswer, number]>([
      ['an engine that hangs up', (_, socket) => void socket.destroy(), 502],
      ['an engine that is none', () => 'SSH-2.0-OpenSSH_9.6\r\n\r\n', 502],
      ['a refusal of the engine', () => jsonAnswer({ error: { message: SECRET } }, '401 X'), 502],
      ['a redirect', () => jsonAnswer({ error: { message: SECRET } }, '307 X', ['Location: http://127.0.0.1:9/']), 502],
      ['another framing', () => 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello', 502],
    ])('say nothing of what is inside: %s', async (_, answer, status) => {
      world.upstream.answer = answer;
      for (const path of [CHAT, '/plain/x']) {
        const response = await world.post(chatBody('x', { user: SECRET }), path);
        expectProblem(response, status);
        expect(response.text()).not.toMatch(/sesame|mark-|SSH/);
      }
    });

    it('say nothing of the address where nobody listens', async () => {
      const dead = await EdgeWorld.start({
        upstreams: [
          { name: 'engine', url: 'http://127.0.0.1:9', engine: 'vllm' },
          { name: 'plain', url: 'http://nowhere.invalid', engine: 'http' },
        ],
      });
      for (const path of [CHAT, '/plain/x']) {
        const response = await dead.post(chatBody('x'), path);
        expectProblem(response, 502);
        expect(response.text()).not.toMatch(/nowhere|:9\b/);
      }
      await dead.stop();
    });

    it("hand an engine's own error on with its own status, and with no other", async () => {
      const error = { message: 'the context is too long', type: 'invalid_request_error', param: null, code: null };
      world.upstream.answer = () => jsonAnswer({ error }, '422 X');
      const response = await world.post(chatBody('x'));
      expect(response.status).toBe(422);
      expect(response.json()).toMatchObject({ error });
    });
  });

  // prettier-ignore
  it.each(['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "'</title>", 'a'.repeat(250), '\\u2028\\u202e', '{{7*7}}', '%0d%0aSet-Cookie:a=b'])(
    'X4: a model %j comes back as capped JSON text and never as a page',
    async (name) => {
      const response = await world.post(`{"model":${JSON.stringify(name).replaceAll('\\\\', '\\')}}`);
      expectProblem(response, 400);
      const { detail } = response.json() as { detail: string };
      expect(detail.length).toBeLessThan(200);
      expect(response.header('set-cookie')).toBeUndefined();
    },
  );

  it('X5: labels of metrics come from closed sets', async () => {
    const junk = 'label-4711';
    for (const path of [
      `/${junk}`,
      `/plain/${junk}`,
      `/v1/models/${junk}`,
      `/v1/${junk}`,
      '/v1/models/demo-chat',
      CHAT,
    ]) {
      for (const method of ['GET', 'POST', 'PROPFIND', 'TRACE']) {
        await world.ask({
          method,
          path,
          headers: { ...JSON_TYPE, 'x-llmgw-session': junk, 'x-llmgw-band': junk },
          body: `{"model":"${junk}"}`,
        });
      }
    }
    await world.ask({
      method: 'POST',
      path: CHAT,
      headers: { ...JSON_TYPE, 'x-llmgw-session': junk, 'x-llmgw-band': junk },
      body: chatBody('x'),
    });
    expectProblem(await world.refusal(`${junk} / HTTP/1.1\r\n\r\n`), 400, 501);
    const metrics = withoutTenants(await world.gateway.metrics());
    expect(metrics).not.toContain(junk);
    expect(metrics).not.toContain(SECRET);
    const values = (label: string) =>
      [...new Set([...metrics.matchAll(new RegExp(`[{,]${label}="([^"]*)"`, 'g'))].map(([, value]) => value))].sort();
    expect(values('route')).toEqual([
      '/healthz',
      '/plain',
      '/v1/chat/completions',
      '/v1/embeddings',
      '/v1/models',
      '/v1/models/{id}',
      '/v1/rerank',
      'none',
    ]);
    expect(values('upstream')).toEqual(['engine', 'none', 'plain']);
    expect(values('model')).toEqual(['demo-chat']);
    expect(values('band').every((band) => ['platinum', 'gold', 'bronze'].includes(band ?? ''))).toBe(true);
    expect(values('status').every((status) => /^[1-5]\d\d$/.test(status ?? ''))).toBe(true);
    expect(values('method').length).toBeLessThan(12);
  });

  it('X5: and tenants, where they are one, are no more than a hundred in a band', async () => {
    for (let turn = 0; turn < 150; turn += 1) {
      const headers = { ...JSON_TYPE, 'x-llmgw-session': `tenant-${String(turn)}` };
      await world.ask({ method: 'POST', path: CHAT, headers, body: chatBody('x') });
    }
    const metrics = await world.gateway.metrics();
    const atEngine = metrics.matchAll(
      /^admission_tenant_tokens_total{upstream="engine",band="gold",tenant="([^"]*)"/gm,
    );
    const tenants = new Set([...atEngine].map(([, tenant]) => tenant));
    expect(tenants.size).toBeGreaterThan(50);
    expect(tenants.size).toBeLessThanOrEqual(101);
    expect(withoutTenants(metrics)).not.toContain('tenant-');
  });

  // prettier-ignore
  it.each([
    '/metrics', '/metrics/', '/debug', '/debug/pprof', '/debug/pprof/heap', '/docs', '/api', '/api-docs', '/swagger', '/swagger.json', '/openapi.json', '/config',
    '/config.json', '/gateway.yaml', '/.env', '/.git/config', '/admin', '/status', '/stats', '/heapdump', '/json/list', '/json/version', '/favicon.ico', '/package.json',
    '/v1/metrics', '/', '/index.html', '/healthz/metrics', '/live', '/ready', '/internal/ledger', '/peers',
  ])('X6: %s is not on the public listener', async (path) => expectProblem(await world.ask({ method: 'GET', path }), 404));

  it('X6: and the management listener serves no model', async () => {
    const response = await fetch(`${world.gateway.managementOrigin}${CHAT}`, {
      method: 'POST',
      headers: JSON_TYPE,
      body: chatBody('x'),
    });
    expect(response.status).toBe(404);
    await response.body?.cancel();
  });
});
