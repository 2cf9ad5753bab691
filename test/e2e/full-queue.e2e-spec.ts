import { request as httpRequest } from 'node:http';
import { chatRequest, jsonAnswer } from '../support/chat-wire.js';
import { EngineWorld, expectProblem } from '../support/engine-world.js';
import type { JsonObject } from '../support/json.js';
import type { RawConnection, RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const BRONZE = { ...JSON_TYPE, 'x-llmgw-band': 'bronze' };
const MESSAGES = [{ role: 'user', content: 'hi' }];
const CHAT = '/v1/chat/completions';
const bronze = (body: string, path = CHAT): RequestParts => ({ method: 'POST', path, headers: BRONZE, body });
const sent = (members: JsonObject, path?: string): RequestParts => bronze(JSON.stringify(members), path);

/** Whatever they ask besides their model: their line is full. */
const TURNED_AWAY: readonly (readonly [what: string, request: RequestParts])[] = [
  ['a good request', sent({ model: 'demo-chat', messages: MESSAGES })],
  ['one with its model at the end', sent({ messages: MESSAGES, stream: true, model: 'demo-chat' })],
  ['one that breaks off behind its model', bronze('{"model":"demo-chat","messages":[{')],
  ['one with a member that is not acceptable', sent({ model: 'demo-chat', messages: MESSAGES, n: -1 })],
  ['a large one', sent({ model: 'demo-chat', messages: [{ role: 'user', content: 'x'.repeat(500_000) }] })],
  ['an alias, whatever the body names', sent({ model: 'nobody', messages: MESSAGES }, '/v1/demo/chat/completions')],
  ['a Messages request', sent({ model: 'demo-chat', max_tokens: 5, messages: MESSAGES }, '/llm/v1/messages')],
  ['a Responses request', sent({ model: 'demo-chat', input: 'hi' }, '/v1/responses')],
]; // prettier-ignore

describe('a full line', () => {
  let world: EngineWorld;
  let waiting: RawConnection[];

  beforeAll(async () => {
    world = await EngineWorld.start({
      auth: { bandHeaderTrust: 'any' },
      upstream: { slots: { limit: 1, perEndpoint: 1 } },
      operations: { chat: { timeouts: { connect: '2s', read: '60s', write: '10s' } } },
      aliases: [{ path: '/v1/demo/chat/completions', operation: 'chat', model: 'demo-chat' }],
      admission: {
        bands: [
          { name: 'gold', ceiling: 1, capacity: 8, ttl: '60s' },
          { name: 'bronze', ceiling: 1, capacity: 2, ttl: '60s' },
        ],
        retryAfter: '3s',
      },
    });
    world.engine.play(() => undefined);
    const request = { ...chatRequest(), headers: BRONZE };
    waiting = [await world.ask(request)];
    await eventually(async () => (await world.inUse()) === 1);
    waiting.push(await world.ask(request), await world.ask(request));
    await eventually(async () => (await world.queued()) === 2);
  }, 30_000);

  afterAll(async () => {
    for (const connection of waiting) connection.destroy();
    await world.stop();
  });

  it.each(TURNED_AWAY)('turns away %s', async (_, request) => {
    const labels = { upstream: 'engine', band: 'bronze', reason: 'queue_full' };
    const before = (await world.gateway.metric('admission_rejected_total', labels)) ?? 0;
    const answer = await world.send(request);
    const isAnthropic = request.path.startsWith('/llm');
    const problem = expectFull(answer, isAnthropic);
    expect(problem).toMatchObject({ request_id: answer.header('x-request-id'), band: 'bronze', waiting: 2 });
    expect(problem['retry_after']).toBe(Number(answer.header('retry-after')));
    expect(answer.header('connection')).not.toBe('close');
    expect(await world.gateway.metric('admission_rejected_total', labels)).toBe(before + 1);
    expect([world.engine.requests.length, await world.inUse(), await world.queued()]).toEqual([1, 1, 2]);
    const line = await eventuallyLogged(world, String(answer.header('x-request-id')));
    expect(line).toMatchObject({ ...{ reason: 'queue_full', model: 'demo-chat', upstream: 'engine', band: 'bronze' } });
    expect(line).toMatchObject({ status: 503, phase: 'queued', msg: 'request rejected' });
    expect(line['request_bytes']).toBe(Buffer.byteLength(request.body ?? ''));
  });

  it('names each request by its own id, the caller’s included', async () => {
    const ids = ['mine-1', 'mine-2', '3f1f0b62-1a4c-4d2e-9f00-0123456789ab'];
    for (const id of ids) {
      const answer = await world.send({ ...sent({ model: 'demo-chat' }), headers: { ...BRONZE, 'x-request-id': id } });
      const kind = id.startsWith('mine') ? 'request' : 'uuid';
      expect(expectFull(answer, false)).toMatchObject({ request_id: id, instance: `urn:${kind}:${id}` });
    }
  });

  it.each([
    [400, 'invalid-body', 'no JSON up to its model', bronze('{"messages":[1,],"model":"demo-chat"}')],
    [400, 'unknown-model', 'a model that nobody serves', sent({ model: 'nobody', messages: MESSAGES })],
    [400, 'missing-model', 'no model', sent({ messages: MESSAGES })],
    [400, 'unsupported-operation', 'a model that does not do it', sent({ model: 'demo-chat', input: 'x' }, '/v1/embeddings')],
    [415, 'unsupported-media-type', 'another media type', { ...sent({ model: 'demo-chat' }), headers: { ...BRONZE, 'content-type': 'text/plain' } }],
  ] as const)('answers %i as ever, %s, for %s', async (status, code, _, request) => {
    expectProblem(await world.send(request), status, code);
  }); // prettier-ignore

  it('is full for its own band only: another one waits, and is then looked at whole', async () => {
    const gold = { ...sent({ model: 'demo-chat', messages: MESSAGES, n: -1 }), headers: JSON_TYPE };
    expectProblem(await world.send(gold), 400, 'invalid-request');
    const waits = await world.ask({ ...sent({ model: 'demo-chat', messages: MESSAGES }), headers: JSON_TYPE });
    await eventually(async () => (await world.queued()) === 3);
    waits.destroy();
    await eventually(async () => (await world.queued()) === 2);
  });

  it('a body that comes in pieces is refused once it is there, and its connection goes on', async () => {
    const body = JSON.stringify({ model: 'demo-chat', messages: MESSAGES });
    const statuses: (number | undefined)[] = [];
    for (let i = 0; i < 2; i += 1) {
      statuses.push(
        await new Promise((resolve, reject) => {
          const { port } = world.gateway;
          const head = { ...BRONZE, 'content-length': body.length };
          const sending = httpRequest({ port, host: '127.0.0.1', path: CHAT, method: 'POST', headers: head });
          sending.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)));
          sending.on('error', reject);
          sending.write(body.slice(0, 9));
          setTimeout(() => sending.end(body.slice(9)), 50);
        }),
      );
    }
    expect(statuses).toEqual([503, 503]);
  });

  it('serves those who waited when there is room again, and then takes others', async () => {
    const [holder] = world.engine.requests;
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
    holder?.socket.write(jsonAnswer());
    const answers = await Promise.all(waiting.map((connection) => connection.response({ method: 'POST' })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await world.slotsFree();
    expect((await world.send(sent({ model: 'demo-chat', messages: MESSAGES }))).status).toBe(200);
    expectProblem(await world.send(bronze('{"model":"demo-chat","messages":[{')), 400, 'invalid-body');
    await world.slotsFree();
  });
});

function expectFull(answer: Awaited<ReturnType<EngineWorld['send']>>, isAnthropic: boolean): JsonObject {
  if (!isAnthropic) return expectProblem(answer, 503, 'queue-full');
  const body = answer.json() as JsonObject;
  expect(answer.status).toBe(503);
  expect(body).toMatchObject({ type: 'error', code: 'queue-full', error: { type: 'overloaded_error' } });
  return body;
}

async function eventuallyLogged({ gateway }: EngineWorld, id: string): Promise<JsonObject> {
  let line: JsonObject | undefined;
  await eventually(() => {
    line = gateway.logs().find((one) => one['request_id'] === id);
    return line !== undefined;
  });
  return line ?? {};
}
