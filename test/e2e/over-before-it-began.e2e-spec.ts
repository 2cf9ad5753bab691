import { setTimeout as delay } from 'node:timers/promises';
import { CHAT, chatBody, contentOf, expectProblem } from '../support/edge-world.js';
import { issuerKey, keySetOf } from '../support/identity-provider.js';
import { IdentityWorld } from '../support/identity-world.js';
import { requestBytes } from '../support/raw-client.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const PATHS = [
  CHAT,
  '/v1/alias/chat/completions',
  '/v1/responses',
  '/llm/v1/messages',
  '/llm/v1/messages/count_tokens',
  '/plain/x',
  // A query leads through the framework's pipeline.
  `${CHAT}?by=framework`,
];
const MOST_OF_THE_MEMORY = 700_000;
/** By then the gateway has seen what has come. */
const SEEN_MS = 50;

/** What comes with its head, or while its token is checked, may end a request before its handler has begun. */
describe('a request that is over before it began', () => {
  let world: IdentityWorld;
  let token: string;

  beforeAll(async () => {
    const roomy = { chat: { maxBody: '1MiB' } };
    world = await IdentityWorld.start({ server: { bodyMemory: '1MiB' }, operations: roomy });
    token = await world.identity.token('svc-chat');
  }, 60_000);
  afterAll(() => world.stop());

  afterEach(async () => {
    world.identity.keySetAnswer = undefined;
    expect(contentOf(await world.chat(token))).toBe('mark-served');
    expect(world.edge.gateway.logs().filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  /** Sends a head and, in the same packet, chunks that are none; settles when the connection has been closed. */
  async function unreadable(path: string, more: Readonly<Record<string, string>>): Promise<void> {
    const connection = await world.edge.connect();
    let heard = '';
    connection.socket.on('data', (bytes: Buffer) => (heard += bytes.toString('latin1')));
    const headers = { ...JSON_TYPE, 'transfer-encoding': 'chunked', ...more };
    connection.send(Buffer.concat([requestBytes({ method: 'POST', path, headers }), Buffer.from('no length\r\n')]));
    const answer = await connection.response({ method: 'POST' });
    expectProblem(answer, 400);
    expect(await connection.closed).toBe('fin');
    expect(heard.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
    expect(await world.lineOf(answer)).toMatchObject({ status: 400, reason: 'invalid_request_head' });
    connection.destroy();
  }

  it.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])('is told once that its body cannot be read: expects 100: %s, has a token: %s', async (expects, known) => {
    const more = { ...(expects && { expect: '100-continue' }), ...(known && { authorization: `Bearer ${token}` }) };
    await Promise.all(PATHS.map((path) => unreadable(path, more)));
  });

  it.each(PATHS)('holds nothing of a body whose client left while its token was checked: %s', async (path) => {
    const { identity, edge } = world;
    const next = await issuerKey(`next-${path}`);
    const asked = Promise.withResolvers<() => void>();
    identity.keySetAnswer = (response, request) => {
      asked.resolve(() => {
        keySetOf({ keys: [identity.key.publicJwk, next.publicJwk] })(response, request);
      });
    };
    const connection = await edge.connect();
    const authorization = `Bearer ${await identity.sign({}, {}, next)}`;
    const headers = { ...JSON_TYPE, authorization, 'content-length': String(MOST_OF_THE_MEMORY) };
    connection.send(requestBytes({ method: 'POST', path, headers }));
    const answer = await asked.promise;
    connection.destroy();
    await delay(SEEN_MS);
    answer();
    await delay(SEEN_MS);
    const large = chatBody('served', { user: 'u'.repeat(MOST_OF_THE_MEMORY) });
    const served = await edge.post(large, CHAT, { ...JSON_TYPE, authorization: `Bearer ${token}` });
    expect(served.status).toBe(200);
  });
});
