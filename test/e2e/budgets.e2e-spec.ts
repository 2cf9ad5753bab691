import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import {
  answerOf,
  errorIn,
  leftIn,
  leftOf,
  messagesRequest,
  sentFor,
  tokensLogged,
  usageEvent,
  type Left,
} from '../support/budget-wire.js';
import {
  chatRequest,
  chunk,
  deltaEvent,
  DONE_EVENT,
  FINISH_EVENT,
  jsonAnswer,
  LAST_CHUNK,
} from '../support/chat-wire.js';
import { STREAM_HEAD, streamRequest } from '../support/chat-wire.js';
import { EngineWorld } from '../support/engine-world.js';
import type { RawConnection, RawResponse, RequestParts } from '../support/raw-client.js';
import { SocketUpstream } from '../support/socket-upstream.js';
import { eventually } from '../support/socket-world.js';

/** Longer than the tests, so that nothing comes back by itself. */
const LONG = '10m';
const TOKENS = 10_000;
const REQUESTS = 1000;
const SMALL = { requests: 5, tokens: TOKENS };

let world: EngineWorld;
let sockets: SocketUpstream;

beforeAll(async () => {
  sockets = await SocketUpstream.start();
  world = await EngineWorld.start({
    upstream: { slots: { limit: 2, perEndpoint: 2 } },
    others: [{ name: 'console', url: sockets.url, engine: 'http' }],
    proxies: [{ prefix: '/console', upstream: 'console', websocket: true }],
    admission: {
      bands: [{ name: 'gold', ceiling: 1, capacity: 1, ttl: '500ms' }],
      defaultBand: 'gold',
    },
    budgets: {
      window: LONG,
      default: { requests: REQUESTS, tokens: TOKENS },
      tenants: ['few', 'few-openai', 'few-anthropic', 'few-sockets'].map((name) => ({ name, ...SMALL })),
    },
  });
}, 60_000);

afterAll(async () => {
  await world.stop();
  await sockets.stop();
}, 30_000);

let tenants = 0;
let tenant: string;
beforeEach(() => {
  tenants += 1;
  tenant = `tenant-${String(tenants)}`;
  world.engine.play(() => undefined);
});
afterEach(() => world.slotsFree());

const send = (request: RequestParts, as = tenant): Promise<RawResponse> => world.send(sentFor(as, request));
const ask = (request: RequestParts): Promise<RawConnection> => world.ask(sentFor(tenant, request));
const left = (): Promise<Left> => leftOf(world.gateway, tenant);
const spent = async (): Promise<number> => TOKENS - (await left()).tokens;
const streamed = (...events: readonly string[]): string =>
  [STREAM_HEAD, ...[...events, DONE_EVENT].map(chunk), LAST_CHUNK].join('');

describe('what an answer says of its tenant’s budget', () => {
  it('stands in the head, whole or streamed, in both dialects and on a prefix', async () => {
    world.engine.play(({ socket, body }) =>
      socket.write(body.includes('"stream":true') ? streamed(deltaEvent('a'), FINISH_EVENT) : jsonAnswer()),
    );
    const asked = [chatRequest({ max_tokens: 10 }), streamRequest({ max_tokens: 10 })];
    const messages = [messagesRequest({ max_tokens: 10 }), messagesRequest({ max_tokens: 10, stream: true })];
    for (const request of [...asked, ...messages]) {
      const before = await left();
      const answer = await send(request);
      expect(answer.status).toBe(200);
      expect(answer.header('ratelimit-policy')).toBe('"requests";q=1000;w=600, "tokens";q=10000;w=600');
      expect(answer.header('ratelimit')).toMatch(/^"requests";r=\d+;t=600, "tokens";r=\d+;t=600$/);
      expect(leftIn(answer).requests).toBe(before.requests - 1);
      expect(before.tokens - leftIn(answer).tokens).toBeGreaterThanOrEqual(10);
      expect(before.tokens - leftIn(answer).tokens).toBeLessThan(200);
    }
    const plain = await send({ method: 'GET', path: '/console/none' });
    expect(leftIn(plain)).toEqual({ requests: (await left()).requests + 1, tokens: (await left()).tokens });
  });

  it('is nothing for a caller whom nobody knows', async () => {
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
    const answer = await world.send(chatRequest());
    expect([answer.status, answer.header('ratelimit'), answer.header('ratelimit-policy')]).toEqual([
      200,
      undefined,
      undefined,
    ]);
  });
});

describe('a budget that is used up', () => {
  it('is a 429 before anybody is asked for a place, which says when to come back', async () => {
    const held = await ask(chatRequest({ max_tokens: 9000 }));
    await world.engine.request(0);
    for (const request of [chatRequest({ max_tokens: 2000 }), messagesRequest({ max_tokens: 2000 })]) {
      const answer = await send(request);
      expect(answer.status).toBe(429);
      expect(answer.header('content-type')).toBe('application/problem+json');
      expect(answer.header('retry-after')).toBe('60');
      expect(answer.header('x-should-retry')).toBeUndefined();
      expect(answer.header('ratelimit-policy')).toBe('"requests";q=1000;w=600, "tokens";q=10000;w=600');
      expect(answer.header('ratelimit')).toMatch(/^"requests";r=999;t=600, "tokens";r=9\d\d;t=6\d\d$/);
      expect(answer.json()).toMatchObject({ budget: 'tokens', limit: TOKENS, window: 600, retry_after: 60 });
      expect(errorIn(answer)).toMatchObject({ type: 'rate_limit_error' });
      expect(answer.text()).toContain('(rate limit)');
      expect(answer.text()).not.toMatch(/billing|quota/);
    }
    expect(world.engine.requests).toHaveLength(1);
    expect(await world.gateway.metric('budget_rejected_total', { kind: 'tokens' })).toBe(2);
    expect(await world.gateway.metric('http_rejected_total', { reason: 'budget_exhausted' })).toBe(2);
    expect(await world.gateway.metric('admission_rejected_total', { reason: 'budget_exhausted' })).toBeUndefined();
    held.destroy();
  });

  it('is one of requests too, wherever they go', async () => {
    for (let i = 0; i < SMALL.requests; i += 1) await send({ method: 'GET', path: '/console/none' }, 'few');
    for (const request of [chatRequest({ max_tokens: 1 }), { method: 'GET', path: '/console/none' }]) {
      const answer = await send(request, 'few');
      expect([answer.status, answer.header('retry-after')]).toEqual([429, '60']);
      expect(answer.json()).toMatchObject({ budget: 'requests', limit: 5, remaining: 0 });
    }
  });

  it('ends a request that is larger than all of it, and says that no retry will help', async () => {
    for (const request of [chatRequest(), messagesRequest({ max_tokens: 20_000 })]) {
      const answer = await send(request);
      expect([answer.status, answer.header('x-should-retry'), answer.header('retry-after')]).toEqual([
        429,
        'false',
        undefined,
      ]);
      expect(answer.text()).toContain('more than the 10000 that this tenant may take in 600 s');
      expect(answer.text()).not.toContain('rate limit');
    }
    expect(await spent()).toBe(0);
  });

  it('is the official clients’ own error', async () => {
    world.engine.play(({ socket }) => socket.write(jsonAnswer()));
    const openai = new OpenAI({
      baseURL: `${world.gateway.origin}/v1`,
      apiKey: 'none',
      maxRetries: 0,
      defaultHeaders: { 'x-llmgw-session': 'few-openai' },
    });
    const anthropic = new Anthropic({
      baseURL: `${world.gateway.origin}/llm`,
      apiKey: 'none',
      maxRetries: 0,
      defaultHeaders: { 'x-llmgw-session': 'few-anthropic' },
    });
    const messages = [{ role: 'user' as const, content: 'hi' }];
    const calls = [
      () => openai.chat.completions.create({ model: 'demo-chat', max_tokens: 5, messages }),
      () => anthropic.messages.create({ model: 'demo-chat', max_tokens: 5, messages }),
    ];
    for (const call of calls) for (let i = 0; i < SMALL.requests; i += 1) await call();
    await expect(calls[0]?.()).rejects.toBeInstanceOf(OpenAI.RateLimitError);
    await expect(calls[1]?.()).rejects.toBeInstanceOf(Anthropic.RateLimitError);
    await expect(
      openai.chat.completions.create({ model: 'demo-chat', max_tokens: 5, messages, stream: true }),
    ).rejects.toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  });
});

describe('a request that has ended', () => {
  const usage = usageEvent(30, 12);

  it('came to what the engine counted, whole or streamed, in both dialects', async () => {
    world.engine.play(({ socket, body }) =>
      socket.write(
        body.includes('"stream":true') ? streamed(deltaEvent('a'), FINISH_EVENT, usage) : jsonAnswer(answerOf(30, 12)),
      ),
    );
    const many = { max_tokens: 5000 };
    const asked = [
      chatRequest(many),
      streamRequest(many),
      messagesRequest(many),
      messagesRequest({ ...many, stream: true }),
    ];
    for (const [at, request] of asked.entries()) {
      const answer = await send(request);
      expect(answer.status).toBe(200);
      expect(await spent()).toBe(42 * (at + 1));
      // It was asked for by the gateway, not by the client.
      if (request.path === '/v1/chat/completions' && at === 1) expect(answer.text()).not.toContain('"usage"');
    }
    await eventually(() => tokensLogged(world.gateway, tenant).length === 4);
    expect(tokensLogged(world.gateway, tenant)).toEqual([42, 42, 42, 42]);
  });

  it('came to its estimated prompt and what was delivered, where its client left in the middle', async () => {
    world.engine.play(({ socket }) =>
      socket.write(STREAM_HEAD + ['one ', 'two ', 'three '].map((text) => chunk(deltaEvent(text))).join('')),
    );
    for (const request of [streamRequest({ max_tokens: 5000 }), messagesRequest({ max_tokens: 5000, stream: true })]) {
      const before = await spent();
      const client = await ask(request);
      await eventually(() => client.socket.bytesRead > 0);
      await delay(100);
      expect(await spent()).toBeGreaterThan(before + 5000);
      client.destroy();
      await world.slotsFree();
      const cost = (await spent()) - before;
      expect(cost).toBeGreaterThan(10);
      expect(cost).toBeLessThan(100);
    }
    await eventually(() => tokensLogged(world.gateway, tenant).length === 2);
    const total = await spent();
    const logged = tokensLogged(world.gateway, tenant) as [number, string][];
    expect(logged.map(([, how]) => how)).toEqual(['estimated', 'estimated']);
    expect(logged.reduce((sum, [tokens]) => sum + tokens, 0)).toBe(total);
  });

  it('came to its prompt, where its client left before the engine had answered', async () => {
    const client = await ask(chatRequest({ max_tokens: 5000 }));
    await world.engine.request(0);
    client.destroy();
    await world.slotsFree();
    expect(await spent()).toBeGreaterThan(0);
    expect(await spent()).toBeLessThan(100);
  });

  it('came to what was delivered, where the engine broke off', async () => {
    world.engine.play(({ socket }) => {
      socket.write(STREAM_HEAD + chunk(deltaEvent('one')));
      setTimeout(() => socket.destroy(), 50);
    });
    const answer = await send(streamRequest({ max_tokens: 5000 }));
    expect(answer.text()).toContain('"error"');
    expect(await spent()).toBeGreaterThan(10);
    expect(await spent()).toBeLessThan(100);
  });

  it.each<[string, string]>([
    ['failed', jsonAnswer('{"error":{"message":"no"}}', '500 Internal Server Error')],
    ['refused it', jsonAnswer('{"error":{"message":"no"}}', '400 Bad Request')],
    ['answered with an error in disguise', jsonAnswer('{"error":{"message":"no"}}')],
  ])('came to nothing, but is a request, where the engine %s', async (_, bytes) => {
    world.engine.play(({ socket }) => socket.write(bytes));
    const answer = await send(chatRequest({ max_tokens: 5000 }));
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(await left()).toEqual({ requests: REQUESTS - 2, tokens: TOKENS });
    await eventually(() => tokensLogged(world.gateway, tenant).length === 1);
    expect(tokensLogged(world.gateway, tenant)).toEqual([0]);
  });

  it('has not happened, where no engine answered', async () => {
    world.engine.play(({ socket }) => socket.destroy());
    const answer = await send(chatRequest({ max_tokens: 5000 }));
    expect(answer.status).toBe(502);
    expect(await left()).toEqual({ requests: REQUESTS - 1, tokens: TOKENS });
  });

  it('has not happened, where it got no place: the queue is full, the wait too long, or its client gone', async () => {
    const holders = [await world.ask(chatRequest()), await world.ask(chatRequest())];
    await world.engine.request(1);
    const gone = await ask(chatRequest({ max_tokens: 5000 }));
    await eventually(async () => (await world.queued()) === 1);
    expect(await spent()).toBeGreaterThan(5000);
    expect((await send(chatRequest({ max_tokens: 1000 }))).status).toBe(503);
    gone.destroy();
    await eventually(async () => (await world.queued()) === 0);
    expect(await spent()).toBe(0);
    expect((await send(chatRequest({ max_tokens: 5000 }))).status).toBe(504);
    expect((await left()).tokens).toBe(TOKENS);
    for (const holder of holders) holder.destroy();
    await eventually(() => tokensLogged(world.gateway, tenant).length === 3);
    expect(tokensLogged(world.gateway, tenant)).toEqual([0, 0, 0]);
  });
});

it('an open WebSocket is one request, and says so when it opens', async () => {
  const dial = (path: string): WebSocket =>
    new WebSocket(`ws://127.0.0.1:${String(world.gateway.port)}${path}`, {
      headers: { 'x-llmgw-session': 'few-sockets' },
    });
  const answerTo = (client: WebSocket): Promise<{ status: unknown; field: unknown }> =>
    new Promise((resolve, reject) => {
      client.on('error', reject);
      const tell = ({ statusCode, headers }: IncomingMessage): void =>
        resolve({ status: statusCode, field: headers['ratelimit'] });
      client.on('upgrade', tell);
      client.on('unexpected-response', (_, response) => tell(response));
    });
  for (let i = 0; i < SMALL.requests; i += 1) {
    const client = dial('/console/socket');
    expect(await answerTo(client)).toEqual({
      status: 101,
      field: `"requests";r=${String(SMALL.requests - 1 - i)};t=600, "tokens";r=10000;t=600`,
    });
    client.close();
  }
  const refused = dial('/console/socket');
  expect(await answerTo(refused)).toMatchObject({ status: 429, field: expect.stringContaining('"requests";r=0;') });
  refused.terminate();
});
