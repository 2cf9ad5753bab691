import { objectOr, type JsonObject } from '../support/json.js';
import { RawConnection, requestBytes, sendRaw, type RawResponse } from '../support/raw-client.js';
import { official } from '../support/rendered-responses.js';
import { jsonOf, ScriptedEngine, type EngineScript } from '../support/scripted-engine.js';
import { eventually } from '../support/socket-world.js';
import { SseFrameReader, type SseFrame } from '../support/sse-frames.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import { brokenInvariant } from '../support/stream-invariants.js';
import { chatAnswer, chatChunk, chatStream } from './engine-answers.js';

const MODEL = 'demo-chat';
const PATH = '/v1/responses';
const JSON_TYPE = { 'content-type': 'application/json' };

let engine: ScriptedEngine;
let gateway: RunningGateway;

beforeAll(async () => {
  engine = await ScriptedEngine.start();
  const narrow = { limit: 1, perEndpoint: 1 };
  gateway = await startGateway({
    upstreams: [
      { name: 'chat', url: engine.url, engine: 'vllm' },
      { name: 'native', url: engine.url, engine: 'vllm', more: { dialects: ['responses'] } },
      { name: 'narrow', url: engine.url, engine: 'openai', slots: narrow },
      { name: 'narrow-native', url: engine.url, engine: 'vllm', slots: narrow, more: { dialects: ['responses'] } },
    ],
    models: [
      { id: MODEL, upstream: 'chat', operations: ['chat'] },
      { id: 'native', upstream: 'native', operations: ['chat'] },
      { id: 'narrow', upstream: 'narrow', operations: ['chat'] },
      { id: 'narrow-native', upstream: 'narrow-native', operations: ['chat'] },
      { id: 'embed', upstream: 'chat', operations: ['embeddings'] },
    ],
    operations: {
      chat: {
        path: '/v1/chat/completions',
        maxBody: '64KiB',
        timeouts: { connect: '2s', read: '2s', write: '10s' },
      },
    },
    admission: {
      heartbeat: '200ms',
      heartbeatEventsAfter: '60s',
      bands: [
        { name: 'gold', ceiling: 1, capacity: 8, ttl: '20s' },
        { name: 'brief', ceiling: 1, capacity: 1, ttl: '1s' },
      ],
    },
  });
}, 90_000);

afterAll(async () => {
  await gateway.stop();
  await engine.stop();
}, 30_000);

beforeEach(() => engine.play({ none: true }));

/** The body of a request for this model. */
const bodyOf = (model: string, more: object = {}): string => JSON.stringify({ model, input: 'hi', ...more });

const post = (body: string, headers: Record<string, string> = {}): Promise<RawResponse> =>
  sendRaw(gateway.port, { method: 'POST', path: PATH, headers: { ...JSON_TYPE, ...headers }, body });

const framesOf = (bytes: Uint8Array): SseFrame[] => new SseFrameReader().push(bytes);
const typesOf = (frames: readonly SseFrame[]) => frames.map(({ event }) => event?.replace('response.', ''));

/** The events of a stream that keeps the rules and ended as it should. */
function eventsOf(answer: RawResponse, outcome: 'complete' | 'error' = 'complete'): SseFrame[] {
  expect([answer.status, answer.end]).toEqual([200, 'clean']);
  expect(answer.header('content-type')).toMatch(/^text\/event-stream/);
  expect([answer.header('cache-control'), answer.header('x-accel-buffering')]).toEqual(['no-store', 'no']);
  const frames = framesOf(answer.body);
  expect(brokenInvariant('responses', frames, outcome)).toBeUndefined();
  return frames;
}

/** An error in the dialect, with everything that its clients and everybody else read. */
function expectError(answer: RawResponse, status: number, type: string, code: string): JsonObject {
  expect([answer.status, answer.end]).toEqual([status, 'clean']);
  expect(answer.header('content-type')).toBe('application/problem+json');
  const body = objectOr(answer.json());
  expect(body).toMatchObject({ status, error: { type, code, message: expect.stringMatching(/./) } });
  expect(body['type']).toMatch(/^https:\/\/gateway\.test\/problems\//);
  expect(body['request_id']).toBe(answer.header('x-request-id'));
  return body;
}

/** A whole answer of the engine that takes its time. */
const slowAnswer = (model: string, delayMs: number): EngineScript => ({
  headers: JSON_TYPE,
  script: [{ delayMs }, { write: JSON.stringify(chatAnswer(model, { content: 'a' }).body) }],
});

async function logLine(requestId: string): Promise<JsonObject> {
  const find = () => gateway.logs().find((line) => line['request_id'] === requestId);
  await eventually(() => find() !== undefined);
  return objectOr(find());
}

describe('errors have the form of the OpenAI dialects', () => {
  it('for a method that is not taken, and for what would have been kept', async () => {
    const wrong = await sendRaw(gateway.port, { method: 'GET', path: PATH });
    expectError(wrong, 405, 'invalid_request_error', 'method_not_allowed');
    expect(wrong.header('allow')).toBe('POST');
    const kept = await sendRaw(gateway.port, { method: 'GET', path: `${PATH}/resp_1` });
    expectError(kept, 404, 'invalid_request_error', 'not_found');
  });

  it('for a body that is none, too large for chat, of another type', async () => {
    expectError(await post('{"model":'), 400, 'invalid_request_error', 'invalid_body');
    const large = await post(bodyOf(MODEL, { instructions: 'x'.repeat(70_000) }));
    expectError(large, 413, 'invalid_request_error', 'body_too_large');
    const typed = await post(bodyOf(MODEL), { 'content-type': 'text/plain' });
    expectError(typed, 415, 'invalid_request_error', 'unsupported_media_type');
  });

  it('for a model that is not there, and one that does something else', async () => {
    expectError(await post(bodyOf('nobody')), 400, 'invalid_request_error', 'model_not_found');
    const other = expectError(await post(bodyOf('embed')), 400, 'invalid_request_error', 'unsupported_operation');
    expect(other['valid_models']).toEqual([MODEL, 'native', 'narrow', 'narrow-native']);
    expect(engine.requests).toHaveLength(0);
  });

  it.each<[string, object]>([
    ['store', { store: true }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['background', { background: true }],
    ['tool_choice.name', { tools: [{ type: 'namespace', name: 'n' }], tool_choice: { type: 'function', name: 'n' } }],
    ['input[0].content[0].type', { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'f' }] }] }],
  ])('for %s, which cannot be served', async (param, more) => {
    const { error } = expectError(await post(bodyOf(MODEL, more)), 400, 'invalid_request_error', 'invalid_request');
    expect(error).toMatchObject({ param, message: expect.stringContaining(param) });
    expect(engine.requests).toHaveLength(0);
  });

  it('for an engine that is not there, late, or refuses the gateway', async () => {
    await engine.play({ refuse: true });
    expectError(await post(bodyOf(MODEL)), 502, 'server_error', 'upstream_unreachable');
    await engine.play({ script: [{ delayMs: 60_000 }] });
    expectError(await post(bodyOf(MODEL)), 504, 'server_error', 'upstream_timeout');
    expect(await engine.sawAbort()).toBe(true);
    await engine.play({ status: 401, body: { error: { message: 'who are you' } } });
    expectError(await post(bodyOf(MODEL)), 502, 'upstream_error', 'upstream_refused_us');
  });

  it('for an engine’s own error, which keeps its status', async () => {
    await engine.play({ status: 429, headers: { 'retry-after': '7' }, body: { error: { message: 'slow down' } } });
    const answer = await post(bodyOf(MODEL, { stream: true }));
    expect([answer.status, answer.header('retry-after')]).toEqual([429, '7']);
    expect(answer.json()).toEqual({ error: { message: 'slow down' } });
    await engine.play({ status: 400, body: { object: 'error', message: "the model's context length is 8 tokens" } });
    expectError(await post(bodyOf(MODEL)), 400, 'invalid_request_error', 'context_length_exceeded');
  });
});

it('never sends the engine what only this dialect knows', async () => {
  await engine.play(chatAnswer(MODEL, { content: 'a' }));
  const more = { store: false, include: [], metadata: { a: 'b' }, truncation: 'auto', prompt_cache_key: 'k' };
  expect((await post(bodyOf(MODEL, more), { authorization: 'Bearer secret' })).status).toBe(200);
  expect(Object.keys(objectOr(jsonOf(engine.lastRequest)))).toEqual(['model', 'messages']);
  expect(engine.lastRequest?.path).toBe('/v1/chat/completions');
  expect(engine.lastRequest?.headers).not.toHaveProperty('authorization');
});

it('hands each event on before the next one is asked for', async () => {
  await engine.play({
    script: [{ write: chatChunk(MODEL, { content: 'x' }) }, { delayMs: 1000 }, { write: 'data: [DONE]\n\n' }],
  });
  const connection = await RawConnection.open(gateway.port);
  connection.send(
    requestBytes({ method: 'POST', path: PATH, headers: JSON_TYPE, body: bodyOf(MODEL, { stream: true }) }),
  );
  let soFar = '';
  const answer = connection.response({ method: 'POST', onBody: (bytes) => (soFar += bytes.toString()) });
  await eventually(() => soFar.includes('"delta":"x"'));
  expect(soFar).not.toContain('response.completed');
  eventsOf(await answer);
  connection.destroy();
});

describe('a stream that waits', () => {
  const waiting = (model = 'narrow', headers: Record<string, string> = {}) =>
    post(bodyOf(model, { stream: true }), headers);

  /** Somebody has the only slot for so long. */
  async function slotTakenFor(delayMs: number, then: EngineScript, model = 'narrow'): Promise<void> {
    await engine.play((_request, call) => (call === 0 ? slowAnswer(model, delayMs) : then));
    holder = sendRaw(gateway.port, {
      method: 'POST',
      path: '/v1/chat/completions',
      headers: JSON_TYPE,
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }] }),
    });
    await eventually(() => engine.requests.length === 1);
  }

  let holder: Promise<RawResponse> | undefined;
  afterEach(async () => {
    await holder;
    holder = undefined;
  });

  it('is created at its first heartbeat, in progress at each other, and then a stream like any other', async () => {
    await slotTakenFor(1000, chatStream('narrow', ['b'], true));
    const answer = await waiting();
    const types = typesOf(eventsOf(answer));
    expect(types.slice(0, 3)).toEqual(['created', 'in_progress', 'in_progress']);
    expect(types.filter((type) => type === 'created')).toHaveLength(1);
    expect(answer.text()).not.toContain(': keep-alive');
    expect(await official(answer.body)).toMatchObject({ status: 'completed', output_text: 'b' });
  });

  it('is kept alive while its engine prefills and between its events', async () => {
    await engine.play({
      script: [
        { delayMs: 700 },
        { write: chatChunk('narrow', { content: 'a' }) },
        { delayMs: 700 },
        { write: chatChunk('narrow', { content: 'b' }, 'stop') },
        { write: 'data: [DONE]\n\n' },
      ],
    });
    const answer = await waiting();
    const types = typesOf(eventsOf(answer));
    const [first, second] = [types.indexOf('output_text.delta'), types.lastIndexOf('output_text.delta')];
    expect(types.slice(0, first).filter((type) => type === 'in_progress').length).toBeGreaterThan(1);
    expect(types.slice(first, second)).toContain('in_progress');
    expect(await official(answer.body)).toMatchObject({ status: 'completed', output_text: 'ab' });
  });

  it('has its heartbeats counted under its own name, and none of them as a token', async () => {
    const labels = { upstream: 'narrow', dialect: 'responses' };
    const beatsBefore = (await gateway.metric('stream_heartbeats_total', labels)) ?? 0;
    const firstBefore = (await gateway.metric('llm_ttft_seconds_sum', labels)) ?? 0;
    await slotTakenFor(1000, chatStream('narrow', ['b'], true));
    const answer = await waiting('narrow', { 'x-request-id': 'waited-1' });
    const beats = typesOf(eventsOf(answer)).filter((type) => type === 'created' || type === 'in_progress').length;
    await logLine('waited-1');
    expect(await gateway.metric('stream_heartbeats_total', labels)).toBe(beatsBefore + beats);
    expect(((await gateway.metric('llm_ttft_seconds_sum', labels)) ?? 0) - firstBefore).toBeGreaterThan(0.4);
    expect(await logLine('waited-1')).toMatchObject({ dialect: 'responses', prompt_tokens: 3, completion_tokens: 2 });
  });

  it('is told in an event that the engine refused it in the end', async () => {
    const refusal = { status: 503, body: { error: { message: 'busy' } } };
    await slotTakenFor(1000, refusal);
    const answer = await waiting();
    expect(eventsOf(answer, 'error').at(-1)).toMatchObject({
      event: 'response.failed',
      data: { response: { status: 'failed', error: { code: 'server_error', message: 'busy (overloaded)' } } },
    });
  });

  it('is told in an event that the wait was too long, and keeps its status where it was told nothing yet', async () => {
    await slotTakenFor(1800, chatAnswer('narrow', { content: 'b' }));
    const parked = waiting('narrow', { 'x-llmgw-band': 'brief' });
    await eventually(async () => (await gateway.metric('admission_queue_depth', { upstream: 'narrow' })) === 1);
    expectError(await waiting('narrow', { 'x-llmgw-band': 'brief' }), 503, 'server_error', 'queue_full');
    const last = eventsOf(await parked, 'error').at(-1);
    expect(last).toMatchObject({
      data: { response: { error: { code: 'server_error', message: expect.stringContaining('timeout') } } },
    });
    expect(engine.requests).toHaveLength(1);
  });

  it('becomes the whole sequence where the engine does not stream, late as it is', async () => {
    await engine.play(slowAnswer('narrow', 700));
    const answer = await waiting();
    expect(await official(answer.body)).toMatchObject({ status: 'completed', output_text: 'a' });
    eventsOf(answer);
  });

  it('is sent comments where the engine speaks the dialect itself, and then the engine’s bytes', async () => {
    const answer = await waitForNative({ sse: NATIVE });
    expect(answer.text()).toMatch(/^(: keep-alive\n\n){2,}event: response\.created\n/);
    expect(answer.text().replaceAll(': keep-alive\n\n', '')).toBe(NATIVE.join(''));
  });

  it('is told in an event that such an engine refused it', async () => {
    const answer = await waitForNative({ status: 503, body: { error: { message: 'busy' } } });
    expect(framesOf(answer.body)).toMatchObject([
      { event: 'error', data: { type: 'error', sequence_number: 0, code: 'server_error' } },
    ]);
  });

  async function waitForNative(then: EngineScript): Promise<RawResponse> {
    await slotTakenFor(1000, then, 'narrow-native');
    const answer = await waiting('narrow-native');
    expect([answer.status, answer.end]).toEqual([200, 'clean']);
    return answer;
  }
});

it('takes its place in the same queue as the other dialects', async () => {
  await engine.play(slowAnswer('narrow', 400));
  const chat = sendRaw(gateway.port, {
    method: 'POST',
    path: '/llm/v1/messages',
    headers: JSON_TYPE,
    body: JSON.stringify({ model: 'narrow', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }),
  });
  await eventually(() => engine.requests.length === 1);
  const response = post(bodyOf('narrow'));
  await eventually(async () => (await gateway.metric('admission_queue_depth', { upstream: 'narrow' })) === 1);
  expect(engine.requests).toHaveLength(1);
  expect([(await chat).status, (await response).status]).toEqual([200, 200]);
  expect((await response).header('x-llmgw-queue-ms')).toMatch(/^\d+$/);
});

describe('a client that leaves', () => {
  it.each([true, false])('is gone for the engine, too; stream: %s', async (stream) => {
    const first = stream ? [{ write: chatChunk(MODEL, { content: 'x' }) }] : [];
    await engine.play({ script: [...first, { delayMs: 60_000 }] });
    const connection = await RawConnection.open(gateway.port);
    connection.send(requestBytes({ method: 'POST', path: PATH, headers: JSON_TYPE, body: bodyOf(MODEL, { stream }) }));
    await eventually(() => engine.requests.length === 1);
    connection.destroy();
    expect(await engine.sawAbort()).toBe(true);
    await eventually(async () => (await gateway.metric('slots_in_use', { upstream: 'chat' })) === 0);
  });
});

it('ends a failed stream with its connection, behind the event that says so', async () => {
  await engine.play({ script: [{ write: chatChunk(MODEL, { content: 'x' }) }, { reset: true }] });
  const connection = await RawConnection.open(gateway.port);
  connection.send(
    requestBytes({ method: 'POST', path: PATH, headers: JSON_TYPE, body: bodyOf(MODEL, { stream: true }) }),
  );
  const answer = await connection.response({ method: 'POST' });
  expect(typesOf(eventsOf(answer, 'error')).at(-1)).toBe('failed');
  expect(await connection.closed).toBe('fin');
});

it('counts what a stream cost, under the route of the dialect', async () => {
  await engine.play(chatStream(MODEL, ['a'], true));
  await post(bodyOf(MODEL, { stream: true }), { 'x-request-id': 'costs-1' });
  expect(await logLine('costs-1')).toMatchObject({
    dialect: 'responses',
    route: PATH,
    model: MODEL,
    prompt_tokens: 3,
    completion_tokens: 2,
  });
  expect(await gateway.metric('http_requests_total', { route: PATH, status: '200' })).toBeGreaterThan(0);
  expect(await gateway.metric('llm_ttft_seconds_count', { model: MODEL, dialect: 'responses' })).toBeGreaterThan(0);
});

describe('an engine that speaks the dialect itself', () => {
  const text = ` ${bodyOf('native', { stream: true, input: [{ type: 'next_years_item', n: 1.1 }] })} `;

  it('gets the same bytes, and its stream passes as it is', async () => {
    await engine.play({ sse: NATIVE });
    const answer = await post(text, { 'x-request-id': 'native-1', authorization: 'Bearer secret' });
    expect(engine.lastRequest?.path).toBe(PATH);
    expect(engine.lastRequest?.body.toString()).toBe(text);
    expect(engine.lastRequest?.headers).not.toHaveProperty('authorization');
    expect([answer.status, answer.text()]).toEqual([200, NATIVE.join('')]);
    expect(await logLine('native-1')).toMatchObject({
      dialect: 'responses',
      prompt_tokens: 11,
      completion_tokens: 6,
    });
  });

  it('has its whole answer passed on as it is', async () => {
    const rawBody = '{ "object":"response", "output":[], "usage":{"input_tokens":1}, "of_next_year": 1.10 }';
    await engine.play({ rawBody, headers: JSON_TYPE });
    const answer = await post(bodyOf('native'));
    expect([answer.status, answer.text()]).toEqual([200, rawBody]);
  });

  it('that breaks off is told of in an event, numbered on', async () => {
    await engine.play({ script: [...NATIVE.slice(0, 2).map((write) => ({ write })), { reset: true }] });
    const answer = await post(text);
    expect(answer.end).toBe('clean');
    expect(brokenInvariant('responses', framesOf(answer.body), 'error')).toBeUndefined();
    expect(framesOf(answer.body).at(-1)).toMatchObject({ event: 'error', data: { code: 'server_error' } });
  });

  it('has its errors handed on', async () => {
    await engine.play({ status: 400, body: { error: { message: 'no such item', type: 'invalid_request_error' } } });
    const answer = await post(text);
    expect([answer.status, answer.json()]).toEqual([
      400,
      { error: { message: 'no such item', type: 'invalid_request_error' } },
    ]);
  });

  it.each([{ store: true }, { previous_response_id: 'resp_1' }, { background: true }])(
    'keeps nothing either: %j',
    async (more) => {
      expectError(await post(bodyOf('native', more)), 400, 'invalid_request_error', 'invalid_request');
      expect(engine.requests).toHaveLength(0);
    },
  );
});

const event = (type: string, number: number, more: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: number, ...more })}\n\n`;
const native = (status: string, more: object = {}) => ({
  response: { id: 'resp_engine', status, output: [], ...more },
});
const place = { item_id: 'm', output_index: 0, content_index: 0 };
const part = { type: 'output_text', text: '', annotations: [] };
const item = { id: 'm', type: 'message', role: 'assistant', content: [] };
/** What an engine says that speaks the dialect. */
const NATIVE = [
  event('response.created', 0, native('in_progress')),
  event('response.output_item.added', 1, { output_index: 0, item }),
  event('response.content_part.added', 2, { ...place, part }),
  event('response.output_text.delta', 3, { ...place, delta: 'a', logprobs: [] }),
  event('response.output_item.done', 4, { output_index: 0, item }),
  event('response.completed', 5, native('completed', { usage: { input_tokens: 11, output_tokens: 6 } })),
];
