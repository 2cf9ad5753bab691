import { CHAT, chatBody, contentOf, expectProblem } from '../support/edge-world.js';
import { IdentityProvider, issuerKey } from '../support/identity-provider.js';
import { IdentityWorld } from '../support/identity-world.js';
import type { JsonObject } from '../support/json.js';
import type { RawResponse, RequestParts } from '../support/raw-client.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const ANTHROPIC_BODY = JSON.stringify({
  model: 'demo-chat',
  max_tokens: 8,
  messages: [{ role: 'user', content: 'hi' }],
});

describe('what a token may do', () => {
  let world: IdentityWorld;
  let other: IdentityProvider;

  beforeAll(async () => {
    other = await IdentityProvider.start(['svc-chat'], await issuerKey('first'));
    world = await IdentityWorld.start(
      {
        operations: { embeddings: { scope: 'llm:embed', group: 'gpu' }, rerank: { scope: 'public' } },
        models: [
          { id: 'demo-chat', upstream: 'engine', operations: ['chat'] },
          { id: 'demo-embed', upstream: 'engine', operations: ['embeddings'] },
          { id: 'demo-rerank', upstream: 'engine', operations: ['rerank'] },
        ],
        proxies: [
          { prefix: '/plain', upstream: 'plain', methods: ['GET', 'POST'] },
          { prefix: '/gpu', upstream: 'plain', more: { group: 'gpu' } },
          { prefix: '/open', upstream: 'plain', more: { scope: 'public' } },
          { prefix: '/page', upstream: 'plain', more: { tokenHeader: 'x-authentik-jwt', forward: ['authorization'] } },
        ],
      },
      { groupsClaim: 'groups' },
    );
  }, 60_000);
  afterAll(async () => {
    await world.stop();
    await other.stop();
  });

  const ask = (token: string | undefined, request: RequestParts): Promise<RawResponse> => {
    const bearer = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return world.edge.ask({ ...request, headers: { ...JSON_TYPE, ...bearer, ...(request.headers as object) } });
  };
  const embed = { method: 'POST', path: '/v1/embeddings', body: '{"model":"demo-embed","input":"x"}' };
  const rerank = { method: 'POST', path: '/v1/rerank', body: '{"model":"demo-rerank","query":"x","texts":["y"]}' };

  /** Claims a 403 that names what is missing, and that the upstream saw nothing. */
  async function expectForbidden(answer: Promise<RawResponse>, scope: string, more: JsonObject = {}): Promise<void> {
    const before = world.served;
    const response = await answer;
    expectProblem(response, 403);
    expect(response.header('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${scope}"`);
    expect(response.json()).toMatchObject({ scope, detail: expect.stringMatching(/scope|group/), ...more });
    expect(world.served).toBe(before);
  }

  it.each<[string, unknown]>([
    ['absent', undefined], ['empty', ''], ['in another case', 'LLM:CHAT llm:Chat'], ['longer', 'llm:chats llm:chat:all xllm:chat'], ['shorter', 'llm: chat llm'],
    ['a list with commas', 'llm:chat,llm:embed'], ['a list of texts', ['llm:chat']], ['a list of objects', [{ name: 'llm:chat' }]], ['an object', { 'llm:chat': true }], ['true', true],
    ['a wildcard', '* llm:*'], ['for queues alone', 'queue:send'],
  ])('Z1: a scope that is %s invokes no GPU', async (_, scope) => {
    const token = await world.identity.sign({ scope });
    await expectForbidden(world.chat(token), 'llm:chat');
    await expectForbidden(ask(token, { method: 'POST', path: '/v1/alias/chat/completions', body: chatBody('x') }), 'llm:chat');
    await expectForbidden(ask(token, { method: 'POST', path: '/llm/v1/messages', body: ANTHROPIC_BODY }), 'llm:chat', { type: 'error', error: { type: 'permission_error', message: expect.stringContaining('llm:chat') } });
    await expectForbidden(ask(token, { method: 'POST', path: '/llm/v1/messages/count_tokens', body: ANTHROPIC_BODY }), 'llm:chat');
    await expectForbidden(ask(token, { method: 'GET', path: '/plain/x' }), 'proxy:use');
  }); // prettier-ignore

  it('Z1: each route asks for its own scope', async () => {
    const chat = await world.identity.token('svc-chat', 'llm:chat');
    expect(contentOf(await world.chat(chat))).toBe('mark-served');
    expect((await ask(chat, { method: 'POST', path: '/llm/v1/messages', body: ANTHROPIC_BODY })).status).toBe(200);
    await expectForbidden(ask(chat, embed), 'llm:embed');
    await expectForbidden(ask(chat, { method: 'GET', path: '/plain/x' }), 'proxy:use');
    const plain = await world.identity.token('svc-chat', 'proxy:use');
    expect((await ask(plain, { method: 'GET', path: '/plain/x' })).status).toBe(200);
    await expectForbidden(world.chat(plain), 'llm:chat');
    expect(await world.edge.gateway.metric('auth_rejected_total', { reason: 'scope' })).toBeGreaterThan(0);
    expect(
      await world.edge.gateway.metric('http_rejected_total', { route: '/plain', reason: 'forbidden' }),
    ).toBeGreaterThan(0);
  });

  it.each<[string, unknown]>([
    ['absent', undefined], ['another', ['staff']], ['a text', 'gpu'], ['in another case', ['GPU']], ['a list of objects', [{ name: 'gpu' }]], ['a scope', ['llm:embed']],
  ])('Z2: the group that the provider controls is %s', async (_, groups) => {
    const token = await world.identity.sign({ groups });
    await expectForbidden(ask(token, embed), 'llm:embed', { group: 'gpu' });
    await expectForbidden(ask(token, { method: 'GET', path: '/gpu/x' }), 'proxy:use', { group: 'gpu' });
  }); // prettier-ignore

  it('Z2: both together are enough, the group alone is not', async () => {
    const both = await world.identity.sign({ groups: ['staff', 'gpu'] });
    expect((await ask(both, embed)).status).toBe(200);
    expect((await ask(both, { method: 'GET', path: '/gpu/x' })).status).toBe(200);
    const alone = await world.identity.sign({ groups: ['gpu'], scope: 'queue:send' });
    await expectForbidden(ask(alone, embed), 'llm:embed');
  });

  it('a public scope needs no token, and a bad one does no harm', async () => {
    for (const token of [undefined, 'nonsense', await world.identity.token('svc-chat', 'queue:send')]) {
      expect((await ask(token, rerank)).status).toBe(200);
      expect((await ask(token, { method: 'GET', path: '/open/x' })).status).toBe(200);
      expect((await ask(token, { method: 'GET', path: '/healthz' })).status).toBe(200);
      expect((await ask(token, { method: 'GET', path: '/readyz' })).status).toBe(200);
    }
    const line = await world.lineOf(
      await ask(undefined, { method: 'GET', path: '/open/x', headers: { 'x-llmgw-session': 'acme' } }),
    );
    expect(line).toMatchObject({ tenant: 'anonymous' });
  });

  describe('the lists of models', () => {
    const idsIn = async (token: string, path: string): Promise<unknown> =>
      ((await ask(token, { method: 'GET', path })).json() as { data: { id: string }[] }).data.map(({ id }) => id);

    it('need a token, any valid one', async () => {
      for (const path of ['/v1/models', '/v1/models/demo-chat', '/llm/v1/models', '/llm/v1/models/demo-chat']) {
        expectProblem(await ask(undefined, { method: 'GET', path }), 401);
        expectProblem(await ask('nonsense', { method: 'GET', path }), 401);
      }
      const token = await world.identity.token('svc-chat', 'llm:chat');
      const byKey = await ask(undefined, { method: 'GET', path: '/llm/v1/models', headers: { 'x-api-key': token } });
      expect(byKey.status).toBe(200);
      expectProblem(await ask(undefined, { method: 'GET', path: '/v1/models', headers: { 'x-api-key': token } }), 401);
    });

    it('hold what the token may call, and nothing else', async () => {
      const none = await world.identity.token('svc-chat', 'queue:send');
      expect([await idsIn(none, '/v1/models'), await idsIn(none, '/llm/v1/models')]).toEqual([['demo-rerank'], []]);
      const chat = await world.identity.token('svc-chat', 'llm:chat llm:embed');
      expect(await idsIn(chat, '/v1/models')).toEqual(['demo-chat', 'demo-rerank']);
      expect(await idsIn(chat, '/llm/v1/models')).toEqual(['demo-chat']);
      const gpu = await world.identity.sign({ scope: 'llm:embed', groups: ['gpu'] });
      expect(await idsIn(gpu, '/v1/models')).toEqual(['demo-embed', 'demo-rerank']);
    });

    it('show one model under the same rule', async () => {
      const token = await world.identity.token('svc-chat', 'llm:chat');
      expect((await ask(token, { method: 'GET', path: '/v1/models/demo-chat' })).status).toBe(200);
      expectProblem(await ask(token, { method: 'GET', path: '/v1/models/demo-embed' }), 404);
      const none = await world.identity.token('svc-chat', 'queue:send');
      expectProblem(await ask(none, { method: 'GET', path: '/v1/models/demo-chat' }), 404);
      expectProblem(await ask(none, { method: 'GET', path: '/llm/v1/models/demo-chat' }), 404);
    });
  });

  describe('Z3: the band', () => {
    const bandOf = async (claims: JsonObject, headers: Record<string, string> = {}): Promise<unknown> => {
      const answer = await world.chat(await world.identity.sign(claims), headers);
      expect(answer.status).toBe(200);
      return (await world.lineOf(answer))['band'];
    };

    it.each<[unknown, string | undefined, string]>([
      [undefined, undefined, 'gold'], ['platinum', undefined, 'platinum'], ['bronze', undefined, 'bronze'], ['diamond', undefined, 'bronze'], [['platinum'], undefined, 'bronze'], [1, undefined, 'bronze'],
      [undefined, 'platinum', 'gold'], ['bronze', 'platinum', 'bronze'], ['bronze', 'gold', 'bronze'], ['platinum', 'gold', 'gold'], ['platinum', 'bronze', 'bronze'], ['gold', 'diamond', 'bronze'],
    ])('claimed %j, asked for %j: %s', async (claimed, asked, given) => {
      expect(await bandOf({ gateway_band: claimed }, asked === undefined ? {} : { 'x-llmgw-band': asked })).toBe(given);
    }); // prettier-ignore

    it('H5: is not raised by a trusted proxy either, nor the tenant named by it', async () => {
      const headers = { 'x-llmgw-band': 'platinum', 'x-llmgw-session': 'somebody-else', 'x-llmgw-tenant': 'x' };
      const answer = await world.chat(await world.identity.token('svc-chat'), headers);
      expect(await world.lineOf(answer)).toMatchObject({ tenant: 'svc-chat', band: 'gold' });
    });
  });

  it.each([[undefined], [7], [['a']], ['']])('Z3: a tenant claim of %j is refused', async (sub) => {
    const before = world.served;
    expectProblem(await world.chat(await world.identity.sign({ sub })), 401);
    expect(world.served).toBe(before);
  });

  it('Z4: a token finds nothing of other tenants: what it may not call is as absent as what is not there', async () => {
    const token = await world.identity.token('svc-chat', 'llm:chat');
    const [hidden, absent] = await Promise.all(
      ['demo-embed', 'demo-nothing'].map((id) => ask(token, { method: 'GET', path: `/v1/models/${id}` })),
    );
    const { status, detail } = hidden?.json() as JsonObject;
    expect(absent?.json()).toMatchObject({ status, detail });
  });

  it('H5, H6: the upstream sees nothing that tells who calls', async () => {
    const token = await world.identity.token('svc-chat');
    const headers = {
      cookie: 'a=b', 'x-api-key': token, 'x-llmgw-band': 'bronze', 'x_llmgw_session': 'acme', 'x-authentik-jwt': token, 'x-authentik-username': 'root', 'x-user': 'root', 'x-scope': 'all', 'proxy-authorization': `Bearer ${token}`,
    }; // prettier-ignore
    await world.chat(token, headers);
    await ask(token, { method: 'GET', path: '/plain/x', headers });
    const seen = world.edge.upstream.requests.slice(-2);
    expect(seen).toHaveLength(2);
    for (const { fields } of seen) {
      expect(JSON.stringify(fields)).not.toContain(token.slice(-20));
      expect(
        fields
          .map(([name]) => name)
          .filter((name) => /auth|cookie|key|band|session|user|scope/.test(name.replace('user-agent', ''))),
      ).toEqual([]);
    }
  });

  describe('T9: the token header of a prefix', () => {
    const page = (headers: Record<string, string>): Promise<RawResponse> =>
      world.edge.ask({ method: 'GET', path: '/page/x', headers });

    it('counts from a trusted proxy, on that prefix alone', async () => {
      const token = await world.identity.token('svc-chat');
      expect((await page({ 'x-authentik-jwt': token })).status).toBe(200);
      expect((await page({ authorization: `Bearer ${token}` })).status).toBe(200);
      expect((await page({ 'x-authentik-jwt': token, authorization: `Bearer ${token}` })).status).toBe(200);
      expectProblem(await page({ 'x-authentik-jwt': `Bearer ${token}` }), 401);
      expectProblem(await page({ 'x-authentik-jwt': token, authorization: 'Bearer other' }), 400);
      expectProblem(await page({ 'x-api-key': token }), 401);
      expectProblem(
        await world.edge.ask({ method: 'GET', path: '/plain/x', headers: { 'x-authentik-jwt': token } }),
        401,
      );
      expect(world.edge.upstream.lastRequest.field('x-authentik-jwt')).toBeUndefined();
    });

    it('counts from nobody else', async () => {
      const stranger = await IdentityWorld.start({
        server: { trustedProxies: ['10.9.9.9/32'] },
        proxies: [{ prefix: '/page', upstream: 'plain', more: { tokenHeader: 'x-authentik-jwt' } }],
      });
      const token = await stranger.identity.token('svc-chat');
      const ask = (headers: Record<string, string>): Promise<RawResponse> =>
        stranger.edge.ask({ method: 'GET', path: '/page/x', headers });
      expectProblem(await ask({ 'x-authentik-jwt': token }), 401);
      expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(200);
      expect(stranger.served).toBe(1);
      await stranger.stop();
    });
  });

  it('Z5: one sub of two issuers, or of two audiences, is two consumers', async () => {
    const here = await IdentityProvider.start(['svc-chat'], await issuerKey('first'));
    const two = await IdentityWorld.start(
      {},
      { issuers: [{ ...here.section, audience: ['gateway', 'batch'] }, other.section] },
    );
    const tokens = [
      await here.sign({ sub: 'acme' }),
      await here.sign({ sub: 'acme', aud: 'batch' }),
      await other.sign({ sub: 'acme' }),
    ];
    const tenants = [];
    for (const token of tokens) tenants.push((await two.lineOf(await two.chat(token)))['tenant']);
    expect(tenants).toEqual([`acme@${here.issuer}#gateway`, `acme@${here.issuer}#batch`, `acme@${other.issuer}`]);
    // The key of one issuer is no key of the other.
    expectProblem(await two.chat(await here.sign({ iss: other.issuer })), 401);
    await two.stop();
    await here.stop();
  });

  it('Z6: the consumer in logs and metrics is the claim of the token, bounded', async () => {
    const answer = await world.chat(await world.identity.sign({ sub: `long-${'x'.repeat(500)}\n{"level":60}` }));
    expect((await world.lineOf(answer))['tenant']).toMatch(/^sha256:[0-9a-f]{64}$/);
    for (let i = 0; i < 120; i += 1) await world.chat(await world.identity.sign({ sub: `tenant-${String(i)}` }));
    const metrics = await world.edge.gateway.metrics();
    const tenants = new Set([...metrics.matchAll(/band="gold",tenant="([^"]*)"/g)].map(([, name]) => name));
    expect(tenants.size).toBeLessThanOrEqual(101);
    expect(metrics).not.toContain('xxxxx');
  });

  describe('P4: no spelling of a path needs less', () => {
    it.each([
      '/v1/chat/completions/', '/v1//chat/completions', '/v1/./chat/completions', '/x/../v1/chat/completions', '/v1/%63hat/completions', '/v1%2fchat/completions', '/V1/chat/completions',
      '/v1/chat/completions;a=b', '/v1/chat/completions%00', '/v1\\chat\\completions', '//host/v1/chat/completions', 'http://a@b/v1/chat/completions', 'http://127.0.0.1/v1/chat/completions', '*',
      '/v1/chat/completions?x=1', '/v1/chat/completions?', '/plain', '/plain/', '/plain/x', '/plain/%78', '/plain?x', '/plain/../healthz', '/plain/%2e%2e/open/x', '/open/../plain/x', '/open/%2e%2e/plain/x', '/open%2f..%2fplain/x',
    ])('%s without a token', async (path) => {
      const before = world.served;
      const answer = await ask(undefined, { method: 'POST', path, body: chatBody('x') });
      expect([answer.status >= 400 && answer.status < 500, world.served]).toEqual([true, before]);
    }); // prettier-ignore

    it('unknown paths and methods are answered without a token, and reach nobody', async () => {
      const before = world.served;
      expectProblem(await ask(undefined, { method: 'GET', path: '/nowhere' }), 404);
      expectProblem(await ask(undefined, { method: 'GET', path: CHAT }), 405);
      expectProblem(await ask(undefined, { method: 'PUT', path: '/plain/x' }), 401);
      expect(world.served).toBe(before);
    });
  });
});
