import { CHAT, chatBody } from '../support/edge-world.js';
import { IdentityWorld } from '../support/identity-world.js';
import { requestBytes, type RawResponse, type RequestParts } from '../support/raw-client.js';

const JSON_TYPE = { 'content-type': 'application/json' };
/** Differs from one answer to the next; whether the connection stays is a matter of its own. */
const OWN = /^(?:date|x-request-id|request-id|ratelimit|connection|keep-alive)$/i;

/** What a client makes of an answer. */
const seen = (answer: RawResponse): object => ({
  status: answer.status,
  fields: answer.headers.filter(([name]) => !OWN.test(name)),
  text: answer.text().replaceAll(answer.header('x-request-id') ?? 'none', 'ID'),
});

/** The paths that most requests go to are served past the framework's pipeline; a query leads through it. */
describe('the way of most requests', () => {
  let world: IdentityWorld;
  let token: string;

  beforeAll(async () => {
    world = await IdentityWorld.start();
    token = await world.identity.token('svc-chat');
  }, 60_000);
  afterAll(() => world.stop());

  const both = async (request: RequestParts): Promise<[RawResponse, RawResponse]> => [
    await world.edge.ask(request),
    await world.edge.ask({ ...request, path: `${request.path}?by=framework` }),
  ];

  const wrong: readonly (readonly [string, Partial<RequestParts>, number])[] = [
    ['is served', {}, 200],
    ['has no token', { headers: JSON_TYPE }, 401],
    ['has a token that is none', { headers: { ...JSON_TYPE, authorization: 'Bearer sk-none' } }, 401],
    ['is no JSON', { body: '{"model":' }, 400],
    ['asks for no model that there is', { body: '{"model":"none","messages":[]}' }, 400],
    ['comes by another method', { method: 'PUT' }, 405],
  ];

  it.each(wrong)('answers a request that %s as the framework would have it answered', async (_, changes, status) => {
    const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` };
    for (const path of [CHAT, '/v1/responses', '/llm/v1/messages', '/v1/alias/chat/completions']) {
      const body = path === CHAT || path.includes('alias') ? chatBody('both') : bodyOf(path);
      const [direct, framework] = await both({ method: 'POST', path, headers, body, ...changes });
      if (path === CHAT) expect(direct.status).toBe(status);
      expect(seen(direct)).toEqual(seen(framework));
    }
  });

  it('names the route of both in the log, an alias by its own path', async () => {
    const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` };
    for (const path of [CHAT, '/v1/alias/chat/completions']) {
      for (const answer of await both({ method: 'POST', path, headers, body: chatBody('route') }))
        expect(await world.lineOf(answer)).toMatchObject({ route: path, status: 200, model: 'demo-chat' });
    }
  });

  it('leaves a connection open behind a refusal where all of the request has come', async () => {
    const client = await world.edge.connect();
    for (const headers of [JSON_TYPE, { ...JSON_TYPE, authorization: `Bearer ${token}` }]) {
      client.send(requestBytes({ method: 'POST', path: CHAT, headers, body: chatBody('kept') }));
      const answer = await client.response();
      expect([answer.status, answer.header('connection')]).toEqual([
        'authorization' in headers ? 200 : 401,
        'keep-alive',
      ]);
    }
    client.destroy();
  });

  it('closes it where a body is outstanding that nobody will read', async () => {
    const client = await world.edge.connect();
    const [head = ''] = requestBytes({ method: 'POST', path: CHAT, headers: JSON_TYPE, body: chatBody('cut') })
      .toString()
      .split('{');
    client.send(head);
    const answer = await client.response();
    expect([answer.status, answer.header('connection')]).toEqual([401, 'close']);
    expect(await client.closed).toBe('fin');
  });
});

const bodyOf = (path: string): string =>
  JSON.stringify(
    path.startsWith('/llm')
      ? { model: 'demo-chat', max_tokens: 8, messages: [{ role: 'user', content: 'mark-both' }] }
      : { model: 'demo-chat', input: 'mark-both' },
  );
