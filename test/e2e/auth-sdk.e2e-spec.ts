import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { objectOr } from '../support/json.js';
import { IdentityProvider, issuerKey } from '../support/identity-provider.js';
import { ScriptedEngine } from '../support/scripted-engine.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import { chatAnswer, chatStream } from './engine-answers.js';

const MODEL = 'demo-chat';
const messages = [{ role: 'user' as const, content: 'hi' }];

describe('official clients with a token as their key', () => {
  let identity: IdentityProvider;
  let engine: ScriptedEngine;
  let gateway: RunningGateway;
  let token: string;

  beforeAll(async () => {
    identity = await IdentityProvider.start(['svc-chat'], await issuerKey('first', 'ES256'));
    engine = await ScriptedEngine.start();
    gateway = await startGateway({
      upstreams: [{ name: 'engine', url: engine.url, engine: 'vllm' }],
      models: [{ id: MODEL, upstream: 'engine', operations: ['chat'] }],
      auth: { enabled: true, issuers: [identity.section] },
    });
    token = await identity.token('svc-chat', 'llm:chat');
  }, 90_000);
  afterAll(async () => {
    await gateway.stop();
    await engine.stop();
    await identity.stop();
  });

  const openAi = (apiKey: string): OpenAI => new OpenAI({ baseURL: `${gateway.origin}/v1`, apiKey, maxRetries: 0 });
  /** The SDK sends `apiKey` as x-api-key and `authToken` as Bearer. */
  const anthropic = (key: Pick<ClientOptions, 'apiKey' | 'authToken'>): Anthropic =>
    new Anthropic({ baseURL: `${gateway.origin}/llm`, maxRetries: 0, ...key });

  /** What a call was rejected with, as far as SDKs tell. */
  async function rejection(call: PromiseLike<unknown>): Promise<unknown> {
    try {
      await call;
    } catch (error) {
      const { status, message, name } = objectOr(error);
      return { status, message, name: error instanceof Error ? error.constructor.name : name };
    }
    throw new Error('the call was not rejected');
  }

  it('OpenAI: completes, streams and lists', async () => {
    const client = openAi(token);
    await engine.play(chatAnswer(MODEL, { content: 'hello' }));
    const answer = await client.chat.completions.create({ model: MODEL, messages });
    expect(answer.choices[0]?.message.content).toBe('hello');
    await engine.play(chatStream(MODEL, ['hel', 'lo'], false));
    let text = '';
    for await (const chunk of await client.chat.completions.create({ model: MODEL, messages, stream: true }))
      text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('hello');
    const listed = await client.models.list();
    expect(listed.data.map(({ id }) => id)).toEqual([MODEL]);
    expect(engine.requests.at(-1)?.headers.authorization).toBeUndefined();
  });

  it('OpenAI: tells its caller what is wrong', async () => {
    expect(await rejection(openAi('sk-nonsense').chat.completions.create({ model: MODEL, messages }))).toEqual({
      status: 401,
      name: 'AuthenticationError',
      message: expect.stringContaining('not an access token'),
    });
    const lacking = openAi(await identity.token('svc-chat', 'queue:send'));
    expect(await rejection(lacking.chat.completions.create({ model: MODEL, messages }))).toEqual({
      status: 403,
      name: 'PermissionDeniedError',
      message: expect.stringContaining('llm:chat'),
    });
  });

  it.each([
    ['apiKey', () => ({ apiKey: token })],
    ['authToken', () => ({ authToken: token })],
  ])('Anthropic, by %s: completes, streams and lists', async (_, key) => {
    const client = anthropic(key());
    await engine.play(chatAnswer(MODEL, { content: 'hello' }));
    const answer = await client.messages.create({ model: MODEL, max_tokens: 8, messages });
    expect(answer.content).toMatchObject([{ type: 'text', text: 'hello' }]);
    await engine.play(chatStream(MODEL, ['hel', 'lo'], false));
    expect(await client.messages.stream({ model: MODEL, max_tokens: 8, messages }).finalText()).toBe('hello');
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual([MODEL]);
    expect(engine.requests.at(-1)?.headers['x-api-key']).toBeUndefined();
  });

  it('Anthropic: tells its caller what is wrong', async () => {
    const ask = (client: Anthropic) => rejection(client.messages.create({ model: MODEL, max_tokens: 8, messages }));
    expect(await ask(anthropic({ apiKey: 'sk-ant-x' }))).toMatchObject({
      status: 401,
      name: 'AuthenticationError',
    });
    const lacking = await identity.token('svc-chat', 'queue:send');
    expect(await ask(anthropic({ apiKey: lacking }))).toMatchObject({
      status: 403,
      name: 'PermissionDeniedError',
      message: expect.stringContaining('llm:chat'),
    });
  });
});
