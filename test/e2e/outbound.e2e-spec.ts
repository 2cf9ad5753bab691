import { gzipSync } from 'node:zlib';
import { CHAT, chatBody, contentOf, EdgeWorld, expectProblem } from '../support/edge-world.js';
import { startGateway } from '../support/start-gateway.js';
import { completionOf, jsonAnswer, WireUpstream, type WireAnswer } from '../support/wire-upstream.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const BOTH = [[CHAT], ['/plain/x']];

/** Where the gateway connects: to what is configured, and to nothing else. */
describe('outbound', () => {
  let world: EdgeWorld;
  let elsewhere: WireUpstream;
  let usual: WireAnswer;

  beforeAll(async () => {
    elsewhere = await WireUpstream.start();
    const { url } = elsewhere;
    const env = {
      HTTP_PROXY: url,
      HTTPS_PROXY: url,
      ALL_PROXY: url,
      http_proxy: url,
      https_proxy: url,
      all_proxy: url,
      NODE_USE_ENV_PROXY: '1',
    };
    world = await EdgeWorld.start({}, { env });
    usual = world.upstream.answer;
  }, 60_000);

  afterAll(async () => {
    await world.stop();
    await elsewhere.stop();
  });

  beforeEach(() => {
    world.upstream.requests = [];
  });

  afterEach(() => {
    world.upstream.answer = usual;
    expect(elsewhere.connections).toBe(0);
  });

  it('G1: no member of a body says where to connect, and no address in it is fetched', async () => {
    const { url } = elsewhere;
    const names = [
      'api_base',
      'base_url',
      'api_url',
      'url',
      'endpoint',
      'host',
      'proxy',
      'callback_url',
      'webhook',
      'upstream',
      'api_type',
      'openai_api_base',
    ];
    const text = chatBody('first', {
      ...Object.fromEntries(names.map((name) => [name, url])),
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: `mark-first ${url}` },
            { type: 'image_url', image_url: { url: `${url}/a.png` } },
          ],
        },
      ],
      tools: [{ type: 'function', function: { name: 'f', parameters: { $ref: `${url}/schema.json` } } }],
      metadata: { model: { api_base: url } },
    });
    for (const path of [CHAT, '/v1/alias/chat/completions', '/v1/embeddings']) {
      expect(contentOf(await world.post(text, path))).toBe('mark-first');
    }
    expect(world.upstream.requests).toHaveLength(3);
  });

  it.each(BOTH)('G1: no field of a request says where to connect: %s', async (path) => {
    const names = [
      'x-upstream-url',
      'x-api-base',
      'x-forwarded-host',
      'x-forwarded-server',
      'forwarded',
      'x-original-url',
      'x-target',
      'x-backend',
      'referer',
      'origin',
      'x-host',
    ];
    for (const host of [elsewhere.authority, 'gateway.test']) {
      const headers = { host, ...JSON_TYPE, ...Object.fromEntries(names.map((name) => [name, elsewhere.url])) };
      expect((await world.ask({ method: 'POST', path, headers, body: chatBody('first') })).status).toBe(200);
      expect(world.upstream.lastRequest.field('host')).toBe(world.upstream.authority);
    }
  });

  // prettier-ignore
  it.each([
    ['of no http', ['file:///etc/passwd', 'ftp://engine.test', 'unix:/var/run/docker.sock', 'javascript:1', 'ws://engine.test', '//engine.test', 'engine.test:80']],
    ['with credentials', ['http://user:pw@engine.test', 'http://user@engine.test', 'http://:pw@engine.test', 'http://@engine.test', 'http://engine.test#@x']],
    ['of the link', ['http://169.254.169.254', 'http://169.254.0.1:80', 'http://2852039166', 'http://0xa9fea9fe', 'http://0251.0376.0251.0376', 'http://[fe80::1]']],
    ['of the link, mapped', ['http://[::ffff:169.254.169.254]', 'http://[::ffff:a9fe:a9fe]', 'http://[0:0:0:0:0:ffff:a9fe:a9fe]']],
    ['of metadata', ['http://metadata.google.internal', 'http://metadata.google.internal.', 'http://METADATA', 'http://100.100.100.200', 'http://168.63.129.16', 'http://[fd00:ec2::254]']],
  ])('G2: an address %s is no upstream, and stops the start', async (_, urls) => {
    const upstreams = urls.map((url, index) => ({ name: `u${String(index)}`, url, engine: 'http' as const }));
    const failure: unknown = await startGateway({ upstreams }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Error);
    expect(String(failure)).toContain('ended (1) before it listened');
    for (const index of urls.keys()) expect(String(failure)).toContain(`upstreams[${String(index)}].url`);
  });

  describe.each(BOTH)('G3: of the outbound client is off: %s', (path) => {
    it.each([301, 302, 303, 307, 308])('following redirects: %i', async (status) => {
      world.upstream.answer = () =>
        jsonAnswer({}, `${String(status)} Elsewhere`, [
          `Location: ${elsewhere.url}/x`,
          `Refresh: 0; url=${elsewhere.url}`,
        ]);
      const response = await world.post(chatBody('first'), path);
      expectProblem(response, 502);
      expect(JSON.stringify(response.headers)).not.toContain(elsewhere.authority);
      expect(world.upstream.requests).toHaveLength(1);
    });

    it('proxies from the environment', async () => {
      expect(contentOf(await world.post(chatBody('first'), path))).toBe('mark-first');
      expect(world.upstream.lastRequest.target.startsWith('/')).toBe(true);
    });

    it('cookies', async () => {
      world.upstream.answer = (request) => jsonAnswer(completionOf(request), '200 OK', ['Set-Cookie: a=b; Path=/']);
      for (let turn = 0; turn < 3; turn += 1) {
        await world.post(chatBody('first'), path);
        expect(world.upstream.lastRequest.field('cookie')).toBeUndefined();
      }
    });

    it('decompression', async () => {
      const packed = gzipSync(JSON.stringify({ choices: [] }));
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: ${String(packed.length)}\r\n\r\n`;
      world.upstream.answer = () => Buffer.concat([Buffer.from(head), packed]);
      const response = await world.post(chatBody('first'), path);
      expect(world.upstream.lastRequest.field('accept-encoding')).toBeUndefined();
      if (path === CHAT) return expectProblem(response, 502);
      expect(response.header('content-encoding')).toBe('gzip');
      expect(response.body.equals(packed)).toBe(true);
    });
  });

  it('G3: a prefix hands on what the client and its upstream agree about compression', async () => {
    await world.post(chatBody('first'), '/plain/x', { ...JSON_TYPE, 'accept-encoding': 'br' });
    expect(world.upstream.lastRequest.field('accept-encoding')).toBe('br');
  });
});
