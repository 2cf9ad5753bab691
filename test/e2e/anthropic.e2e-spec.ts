import { isObject, listOr, objectOr, type JsonObject } from '../support/json.js';
import { RawConnection, requestBytes, sendRaw, type RawResponse } from '../support/raw-client.js';
import { jsonOf, ScriptedEngine, type EngineScript } from '../support/scripted-engine.js';
import { eventually } from '../support/socket-world.js';
import { SseFrameReader } from '../support/sse-frames.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import { brokenInvariant } from '../support/stream-invariants.js';
import { chatAnswer, chatChunk, chatStream } from './engine-answers.js';

const MODEL = 'demo-chat';
const PING = 'event: ping\ndata: {"type":"ping"}\n\n';

let engine: ScriptedEngine;
let gateway: RunningGateway;

beforeAll(async () => {
  engine = await ScriptedEngine.start();
  const narrow = { limit: 1, perEndpoint: 1 };
  gateway = await startGateway({
    upstreams: [
      { name: 'chat', url: engine.url, engine: 'vllm' },
      { name: 'native', url: engine.url, engine: 'vllm', more: { dialects: ['anthropic'] } },
      { name: 'narrow', url: engine.url, engine: 'openai', slots: narrow },
    ],
    models: [
      { id: MODEL, upstream: 'chat', operations: ['chat'] },
      { id: 'native', upstream: 'native', operations: ['chat'] },
      { id: 'narrow', upstream: 'narrow', operations: ['chat'] },
      { id: 'embed', upstream: 'chat', operations: ['embeddings'] },
    ],
    operations: { chat: { path: '/v1/chat/completions', maxBody: '64KiB' } },
    admission: { heartbeat: '200ms', heartbeatEventsAfter: '60s' },
  });
}, 90_000);

afterAll(async () => {
  await gateway.stop();
  await engine.stop();
}, 30_000);

beforeEach(() => engine.play({ none: true }));

const JSON_TYPE = { 'content-type': 'application/json' };

/** The body of a request for this model. */
const bodyOf = (model: string, more: object = {}): string =>
  JSON.stringify({ model, max_tokens: 16, messages: [{ role: 'user', content: 'hi' }], ...more });

const post = (body: string, path = '/llm/v1/messages', headers: Record<string, string> = {}): Promise<RawResponse> =>
  sendRaw(gateway.port, { method: 'POST', path, headers: { ...JSON_TYPE, ...headers }, body });

const framesOf = (bytes: Uint8Array) => new SseFrameReader().push(bytes);

/** An error in the dialect, with everything that its clients and everybody else read. */
function expectError(answer: RawResponse, status: number, type: string, code: string): JsonObject {
  expect([answer.status, answer.end]).toEqual([status, 'clean']);
  expect(answer.header('content-type')).toBe('application/problem+json');
  const body = objectOr(answer.json());
  expect(body).toMatchObject({ type: 'error', code, status, error: { type, message: expect.stringMatching(/./) } });
  expect(answer.header('request-id')).toMatch(/^[\w.-]{1,128}$/);
  expect(answer.header('x-request-id')).toBe(answer.header('request-id'));
  expect(body['request_id']).toBe(answer.header('request-id'));
  return body;
}

describe('every answer under /llm carries its request-id', () => {
  it('and a success the client’s own, where it has one', async () => {
    await engine.play(chatAnswer(MODEL, { content: 'Hello.' }));
    const answer = await post(bodyOf(MODEL), '/llm/v1/messages?beta=true', { 'x-request-id': 'mine-1' });
    expect([answer.status, answer.header('request-id'), answer.header('x-request-id')]).toEqual([
      200,
      'mine-1',
      'mine-1',
    ]);
    expect(answer.json()).toMatchObject({ id: 'msg_mine-1' });
    const models = await sendRaw(gateway.port, { method: 'GET', path: '/llm/v1/models' });
    expect(models.header('request-id')).toBeDefined();
  });

  it('but none on the OpenAI side', async () => {
    const models = await sendRaw(gateway.port, { method: 'GET', path: '/v1/models' });
    expect([models.status, models.header('request-id')]).toEqual([200, undefined]);
    const absent = await sendRaw(gateway.port, { method: 'GET', path: '/llmore' });
    expect(absent.json()).toMatchObject({ error: { code: 'not_found' } });
    expect(absent.header('request-id')).toBeUndefined();
  });
});

describe('errors have the form of the dialect', () => {
  it('for a path that is not there, and a method that is not taken', async () => {
    const absent = await sendRaw(gateway.port, { method: 'GET', path: '/llm/v1/nothing' });
    expectError(absent, 404, 'not_found_error', 'not-found');
    const wrong = await sendRaw(gateway.port, { method: 'GET', path: '/llm/v1/messages' });
    expectError(wrong, 405, 'invalid_request_error', 'method-not-allowed');
    expect(wrong.header('allow')).toBe('POST');
  });

  it('for a body that is none, too large, of another type', async () => {
    expectError(await post('{"model":'), 400, 'invalid_request_error', 'invalid-body');
    expectError(await post(bodyOf(MODEL, { system: 'x'.repeat(70_000) })), 413, 'request_too_large', 'body-too-large');
    const typed = await post(bodyOf(MODEL), '/llm/v1/messages', { 'content-type': 'text/plain' });
    expectError(typed, 415, 'invalid_request_error', 'unsupported-media-type');
  });

  it('for a model that is not there, and one that does something else', async () => {
    expectError(await post(bodyOf('nobody')), 400, 'invalid_request_error', 'unknown-model');
    const other = expectError(await post(bodyOf('embed')), 400, 'invalid_request_error', 'unsupported-operation');
    expect(other['valid_models']).toEqual([MODEL, 'native', 'narrow']);
    expect(engine.requests).toHaveLength(0);
  });

  it('for a field that cannot be translated, with its path', async () => {
    const content = [
      { type: 'text', text: 'x' },
      { type: 'image', source: { type: 'file', file_id: 'f' } },
    ];
    const answer = await post(bodyOf(MODEL, { messages: [{ role: 'user', content }] }));
    const { error } = expectError(answer, 400, 'invalid_request_error', 'invalid-request');
    expect(objectOr(error)['message']).toContain('messages[0].content[1].source.type');
    expect(engine.requests).toHaveLength(0);
  });

  it('for a thread, which official clients then do without', async () => {
    const answer = await post(bodyOf(MODEL, { thread: { type: 'create' } }));
    const { error } = expectError(answer, 400, 'invalid_request_error', 'invalid-request');
    expect(error).toMatchObject({ details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } });
  });

  it('for a head that no handler ever sees', async () => {
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`x-field-${at}`, 'x']));
    expectError(await post('{}', '/llm/v1/messages', many), 431, 'invalid_request_error', 'headers-too-large');
    expectError(
      await post('{}', '/llm/v1/messages', { 'x-long': 'x'.repeat(20_000) }),
      431,
      'invalid_request_error',
      'headers-too-large',
    );
    const connection = await RawConnection.open(gateway.port);
    connection.send(Buffer.from('POST /llm/v1/messages HTTP/1.1\r\nbad header\r\n\r\n'));
    expectError(await connection.response({ method: 'POST' }), 400, 'invalid_request_error', 'invalid-request-head');
    connection.destroy();
  });

  it('for an engine that is not there, with the words that clients retry on', async () => {
    await engine.play({ refuse: true });
    const { error } = expectError(await post(bodyOf(MODEL)), 502, 'api_error', 'upstream-unreachable');
    expect(objectOr(error)['message']).toContain('server_error');
  });
});

it('hands the digits of numbers on, up and down', async () => {
  const input = '{"n":12345678901234567890,"x":1.10}';
  const called = { id: 'c1', type: 'function' as const, function: { name: 'a', arguments: input } };
  await engine.play(chatAnswer(MODEL, { tool_calls: [called] }));
  const call = `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"a","input":${input}}]}`;
  const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}';
  const answer = await post(
    `{"model":"${MODEL}","max_tokens":16,"messages":[{"role":"user","content":"x"},${call},${result}]}`,
  );
  expect(engine.lastRequest?.body.toString()).toContain(JSON.stringify(input));
  expect(answer.text()).toContain(`"input":${input}`);
});

describe('a stream that waits for its slot', () => {
  it('is kept alive with pings, and then is a stream like any other', async () => {
    const held: EngineScript = {
      script: [{ delayMs: 1000 }, { write: JSON.stringify(chatAnswer('narrow', { content: 'a' }).body) }],
    };
    await engine.play((_request, call) =>
      call === 0 ? { ...held, headers: JSON_TYPE } : chatStream('narrow', ['b'], true),
    );
    const holder = post(bodyOf('narrow'));
    await eventually(() => engine.requests.length === 1);
    const waiting = await post(bodyOf('narrow', { stream: true }));
    expect((await holder).status).toBe(200);
    expect([waiting.status, waiting.end]).toEqual([200, 'clean']);
    expect(waiting.text().startsWith(`${PING}${PING}`)).toBe(true);
    expect(brokenInvariant('anthropic', framesOf(waiting.body), 'complete')).toBeUndefined();
  });

  it('is told in an event that the engine refused it in the end', async () => {
    const busy: EngineScript = {
      status: 503,
      headers: JSON_TYPE,
      script: [{ delayMs: 700 }, { write: '{"error":{"message":"busy"}}' }],
    };
    await engine.play((_request, call) => (call === 0 ? { ...busy, status: 200 } : busy));
    const holder = post(bodyOf('narrow'));
    await eventually(() => engine.requests.length === 1);
    const waiting = await post(bodyOf('narrow', { stream: true }));
    await holder;
    expect([waiting.status, waiting.end]).toEqual([200, 'clean']);
    expect(framesOf(waiting.body)).toMatchObject([{ event: 'error', data: { error: { type: 'overloaded_error' } } }]);
  });

  it('takes its place in the same queue as the other dialect', async () => {
    const slow: EngineScript = {
      headers: JSON_TYPE,
      script: [{ delayMs: 400 }, { write: JSON.stringify(chatAnswer('narrow', { content: 'a' }).body) }],
    };
    await engine.play(slow);
    const chat = sendRaw(gateway.port, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: JSON_TYPE,
      body: bodyOf('narrow'),
    });
    await eventually(() => engine.requests.length === 1);
    const message = post(bodyOf('narrow'));
    await eventually(async () => (await gateway.metric('admission_queue_depth', { upstream: 'narrow' })) === 1);
    expect(engine.requests).toHaveLength(1);
    expect([(await chat).status, (await message).status]).toEqual([200, 200]);
    expect((await message).header('x-llmgw-queue-ms')).toMatch(/^\d+$/);
  });
});

describe('a client that leaves', () => {
  it.each([true, false])('is gone for the engine, too; stream: %s', async (stream) => {
    const first = stream ? [{ write: chatChunk(MODEL, { content: 'x' }) }] : [];
    await engine.play({ script: [...first, { delayMs: 60_000 }] });
    const connection = await RawConnection.open(gateway.port);
    connection.send(
      requestBytes({ method: 'POST', path: '/llm/v1/messages', headers: JSON_TYPE, body: bodyOf(MODEL, { stream }) }),
    );
    await eventually(() => engine.requests.length === 1);
    connection.destroy();
    expect(await engine.sawAbort()).toBe(true);
  });
});

it('counts what a stream cost', async () => {
  await engine.play(chatStream(MODEL, ['a'], true));
  await post(bodyOf(MODEL, { stream: true }), '/llm/v1/messages', { 'x-request-id': 'costs-1' });
  await eventually(() => gateway.logs().some((line) => line['request_id'] === 'costs-1'));
  const line = gateway.logs().find((each) => each['request_id'] === 'costs-1');
  expect(line).toMatchObject({
    dialect: 'anthropic',
    route: '/llm/v1/messages',
    model: MODEL,
    prompt_tokens: 3,
    completion_tokens: 2,
  });
});

describe('an engine that speaks the dialect itself', () => {
  const text = ` ${bodyOf('native', { stream: true, messages: [{ role: 'user', content: [{ type: 'next_years_block', n: 1 }] }] })} `;
  const event = (data: JsonObject): string => `event: ${String(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`;
  const START = event({
    type: 'message_start',
    message: { id: 'm', content: [], usage: { input_tokens: 11, output_tokens: 1 } },
  });
  const REST = [
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } }),
    event({ type: 'content_block_stop', index: 0 }),
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 6 } }),
    event({ type: 'message_stop' }),
  ];

  it('gets the same bytes and the dialect’s fields, and its stream passes as it is', async () => {
    await engine.play({ sse: [START, ...REST] });
    const fields = {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-beta',
      'x-api-key': 'secret',
      'x-request-id': 'native-1',
    };
    const answer = await post(text, '/llm/v1/messages?beta=true', fields);
    expect(engine.lastRequest?.path).toBe('/v1/messages');
    expect(engine.lastRequest?.body.toString()).toBe(text);
    expect(engine.lastRequest?.headers).toMatchObject({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-beta',
    });
    expect(engine.lastRequest?.headers).not.toHaveProperty('x-api-key');
    expect([answer.status, answer.text(), answer.header('request-id')]).toEqual([
      200,
      START + REST.join(''),
      'native-1',
    ]);
    await eventually(() => gateway.logs().some((line) => line['request_id'] === 'native-1'));
    expect(gateway.logs().find((line) => line['request_id'] === 'native-1')).toMatchObject({
      prompt_tokens: 11,
      completion_tokens: 6,
    });
  });

  it('has its whole answer passed on as it is', async () => {
    const rawBody =
      '{ "type":"message", "content":[], "usage":{"input_tokens":1,"output_tokens":2}, "of_next_year": 1.10 }';
    await engine.play({ rawBody, headers: JSON_TYPE });
    const answer = await post(bodyOf('native'));
    expect([answer.status, answer.text()]).toEqual([200, rawBody]);
    expect(engine.lastRequest?.headers['anthropic-version']).toBe('2023-06-01');
  });

  it('that breaks off is told of in an event', async () => {
    await engine.play({ script: [{ write: START }, { reset: true }] });
    const answer = await post(text);
    expect(answer.end).toBe('clean');
    expect(framesOf(answer.body)).toMatchObject([
      { event: 'message_start' },
      { event: 'error', data: { error: { type: 'api_error' } } },
    ]);
  });

  it('has its errors put into the gateway’s form', async () => {
    await engine.play({
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message: 'no such block' } },
    });
    const { error } = expectError(await post(text), 400, 'invalid_request_error', 'upstream-failed');
    expect(objectOr(error)['message']).toBe('no such block');
  });

  it('keeps no threads either', async () => {
    expectError(
      await post(bodyOf('native', { thread: { type: 'create' } })),
      400,
      'invalid_request_error',
      'invalid-request',
    );
    expect(engine.requests).toHaveLength(0);
  });
});

describe('count_tokens', () => {
  const count = (model: string, more: object = {}) =>
    post(bodyOf(model, { max_tokens: undefined, ...more }), '/llm/v1/messages/count_tokens');
  const counted = (answer: RawResponse) => [answer.status, answer.json(), answer.header('x-llmgw-token-count')];

  it('is answered by an engine that speaks the dialect, or estimated where it cannot', async () => {
    await engine.play({ body: { input_tokens: 4711 } });
    expect(counted(await count('native'))).toEqual([200, { input_tokens: 4711 }, 'engine']);
    expect(engine.lastRequest?.path).toBe('/v1/messages/count_tokens');
    expect(engine.lastRequest?.body.toString()).toBe(bodyOf('native', { max_tokens: undefined }));
    await engine.play({ status: 404, rawBody: '404 page not found' });
    expect(counted(await count('native'))).toEqual([200, { input_tokens: expect.any(Number) }, 'estimated']);
  });

  it('is refused where that engine finds a fault', async () => {
    await engine.play({
      status: 400,
      body: { type: 'error', error: { type: 'invalid_request_error', message: 'no such block' } },
    });
    expectError(await count('native'), 400, 'invalid_request_error', 'upstream-failed');
  });

  it.each<[string, EngineScript]>([
    ['fails', { tokenize: { error: 'no' } }],
    ['is not there', { refuse: true }],
  ])('is estimated where the tokenizer %s', async (_, script) => {
    await engine.play(script);
    expect(counted(await count(MODEL))).toEqual([200, { input_tokens: expect.any(Number) }, 'estimated']);
  });

  it('takes no slot', async () => {
    await engine.play({ script: [{ delayMs: 60_000 }] });
    const holder = await RawConnection.open(gateway.port);
    holder.send(requestBytes({ method: 'POST', path: '/llm/v1/messages', headers: JSON_TYPE, body: bodyOf('narrow') }));
    await eventually(() => engine.requests.length === 1);
    expect(counted(await count('narrow'))).toEqual([200, { input_tokens: expect.any(Number) }, 'estimated']);
    holder.destroy();
    expect(await engine.sawAbort()).toBe(true);
  });

  it('reads the request like any other', async () => {
    expectError(await count('embed'), 400, 'invalid_request_error', 'unsupported-operation');
    expectError(await count(MODEL, { thread: { type: 'create' } }), 400, 'invalid_request_error', 'invalid-request');
    const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'x' } };
    expectError(
      await count(MODEL, { messages: [{ role: 'user', content: [pdf] }] }),
      400,
      'invalid_request_error',
      'invalid-request',
    );
  });

  it('learns from what the engines count', async () => {
    const estimate = async (): Promise<number> =>
      Number(objectOr((await count(MODEL, { system: 'x'.repeat(3600) })).json())['input_tokens']);
    const before = await estimate();
    const usage = { prompt_tokens: 4000, completion_tokens: 1 };
    await engine.play({ body: { ...objectOr(chatAnswer(MODEL, { content: 'a' }).body), usage } });
    await post(bodyOf(MODEL, { system: 'x'.repeat(3600) }));
    expect(await estimate()).toBeGreaterThan(before);
  });
});

it('lists the models that chat, one page of them', async () => {
  const { status, json } = await sendRaw(gateway.port, { method: 'GET', path: '/llm/v1/models?limit=1000' });
  expect(status).toBe(200);
  const list = objectOr(json());
  expect(list).toMatchObject({ has_more: false, first_id: MODEL, last_id: 'narrow' });
  expect(
    listOr(list['data'])
      .filter(isObject)
      .map(({ id }) => id),
  ).toEqual([MODEL, 'native', 'narrow']);
  expectError(
    await sendRaw(gateway.port, { method: 'GET', path: '/llm/v1/models/embed' }),
    404,
    'not_found_error',
    'model-not-found',
  );
});

it('never sends the engine what only the other dialect knows', async () => {
  await engine.play(chatAnswer(MODEL, { content: 'a' }));
  await post(
    bodyOf(MODEL, { metadata: { user_id: 'u' }, thinking: { type: 'adaptive' }, cache_control: { type: 'ephemeral' } }),
  );
  expect(Object.keys(objectOr(jsonOf(engine.lastRequest)))).toEqual(['model', 'messages', 'max_tokens']);
});
