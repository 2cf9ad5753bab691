import { setTimeout as delay } from 'node:timers/promises';
import { CHAT_ANSWER, chatRequest, streamRequest, deltaEvent, FINISH_EVENT, DONE_EVENT } from '../support/chat-wire.js';
import { OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver.js';
import type { RequestParts } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import type { RunningGateway } from '../support/start-gateway.js';
import { CALLER, JSON_ANSWER, named, parentField, tellOf, TRACE, TracedWorld } from '../support/traced-world.js';

import.meta.jest.setTimeout(15_000);

const SECRET = 'nobody-may-read-this';

const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

/** Inside the gateway: on SIGUSR2 it says how many files of OpenTelemetry it has loaded, but for the API that prom-client names. */
const COUNTER = `
import module from 'node:module';
process.on('SIGUSR2', () => {
  const files = Object.keys(module._cache).filter((file) => /@opentelemetry.(?!api)/.test(file)).length;
  process.stdout.write(JSON.stringify({ msg: 'loaded', files }) + '\\n');
});
`;
const COUNTED = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(COUNTER)}` };

async function packagesLoaded(gateway: RunningGateway): Promise<unknown> {
  const find = () => gateway.logs().find(({ msg }) => msg === 'loaded');
  gateway.kill('SIGUSR2');
  await eventually(() => find() !== undefined);
  return find()?.['files'];
}

const MESSAGES = '/llm/v1/messages';
const RESPONSES = '/v1/responses';
const user = { role: 'user', content: 'hi' };
const messages = (model: string) => ({ model, max_tokens: 5, messages: [user] });
const CHAT = {
  ...JSON.parse(CHAT_ANSWER),
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
} as unknown;
const COMPLETION = { id: 'c', object: 'text_completion', created: 1, model: 'm', choices: [{ index: 0, text: 'a' }] };
const VECTORS = { object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] };
const RANKS = { results: [{ index: 0, relevance_score: 0.5 }] };
const used = { input_tokens: 3, output_tokens: 4 };
const MESSAGE = {
  ...{ id: 'm', type: 'message', role: 'assistant', model: 'demo-native', stop_reason: 'end_turn', usage: used },
  content: [{ type: 'text', text: 'hello' }],
};
const RESPONSE = { id: 'r', object: 'response', status: 'completed', model: 'demo-native', output: [], usage: used };

/** Every other way to an engine: what is asked, under which name the call is told, and what the engine answers. */
// prettier-ignore
const EVERY_WAY = [
  { path: '/v1/completions', dialect: 'openai', name: 'text_completion demo-chat', body: { model: 'demo-chat', prompt: 'hi' }, answer: COMPLETION },
  { path: '/v1/embeddings', dialect: 'openai', name: 'embeddings demo-chat', body: { model: 'demo-chat', input: 'hi' }, answer: VECTORS },
  { path: '/v1/rerank', dialect: 'openai', name: 'rerank demo-chat', body: { model: 'demo-chat', query: 'hi', documents: ['a'] }, answer: RANKS },
  { path: MESSAGES, dialect: 'anthropic', name: 'chat demo-chat', body: messages('demo-chat'), answer: CHAT },
  { path: MESSAGES, dialect: 'anthropic', name: 'chat demo-native', body: messages('demo-native'), answer: MESSAGE },
  { path: RESPONSES, dialect: 'responses', name: 'chat demo-chat', body: { model: 'demo-chat', input: 'hi' }, answer: CHAT },
  { path: RESPONSES, dialect: 'responses', name: 'chat demo-native', body: { model: 'demo-native', input: 'hi' }, answer: RESPONSE },
];

describe('with tracing on', () => {
  let world: TracedWorld;

  beforeAll(async () => {
    world = await TracedWorld.start({
      env: {
        OTEL_SERVICE_NAME: 'edge',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=abc',
        ...COUNTED,
      },
    });
  }, 60_000);
  afterAll(() => world.stop());
  beforeEach(() => world.engine.play(JSON_ANSWER));

  it('one trace goes from the client to the engine', async () => {
    // Client and engine tell the same collector of their own spans, as they do where all of them are traced.
    await tellOf(world.receiver, { name: 'the client', spanId: CALLER, parentSpanId: undefined });
    await world.engine.play((request) => {
      const [, traceId = '', parentSpanId = ''] = (request.headers['traceparent'] as string).split('-');
      void tellOf(world.receiver, { name: 'the engine', spanId: 'eeeeeeeeeeeeeeee', parentSpanId }, traceId);
      return JSON_ANSWER;
    });
    await world.send('one', chatRequest(), { traceparent: parentField(), tracestate: 'vendor=1' });
    await eventually(() => world.receiver.spans.filter(({ traceId }) => traceId === TRACE).length === 5);

    const spans = world.receiver.spans.filter(({ traceId }) => traceId === TRACE);
    const line = (leaf: ReceivedSpan): string[] => {
      const parent = spans.find(({ spanId }) => spanId === leaf.parentSpanId);
      return [...(parent === undefined ? [] : line(parent)), leaf.name];
    };
    expect(line(named(spans, 'the engine'))).toEqual([
      'the client',
      'POST /v1/chat/completions',
      'chat demo-chat',
      'the engine',
    ]);
    expect(line(named(spans, 'admission'))).toEqual(['the client', 'POST /v1/chat/completions', 'admission']);
    expect(world.engine.lastRequest?.headers['tracestate']).toBe('vendor=1');
    expect(named(spans, 'POST /v1/chat/completions')).toMatchObject({ kind: SERVER, traceState: 'vendor=1' });
    expect(await world.line('one')).toMatchObject({ trace_id: TRACE });
  });

  it('says what the conventions name, and nothing of what was said', async () => {
    const request = chatRequest({ messages: [{ role: 'user', content: SECRET }] });
    await world.send('words', request, { authorization: `Bearer ${SECRET}`, 'x-llmgw-band': 'bronze' });
    const spans = await world.receiver.spansOf('words', 3);
    const [server, admission, call] = [spans[0], named(spans, 'admission'), named(spans, 'chat demo-chat')];
    const { port } = new URL(world.engine.url);
    expect(server).toMatchObject({ kind: SERVER, status: 0, parentSpanId: undefined });
    expect(server?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'gateway.dialect': 'openai',
      'gateway.phase': 'done',
    });
    expect(admission).toMatchObject({ kind: INTERNAL, status: 0 });
    expect(admission.attributes).toEqual({
      'gateway.upstream': 'engine',
      'gateway.band': 'bronze',
      'gateway.parked': false,
    });
    expect(call).toMatchObject({ kind: CLIENT, status: 0 });
    expect(call.attributes).toEqual({
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': Number(port),
      'gateway.upstream': 'engine',
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'vllm',
      'gen_ai.request.model': 'demo-chat',
      'gen_ai.usage.input_tokens': 1,
      'gen_ai.usage.output_tokens': 1,
      'gen_ai.usage.cache_read.input_tokens': 0,
      'gen_ai.usage.reasoning.output_tokens': 0,
    });
    expect(server?.resource).toMatchObject({ 'service.name': 'edge', 'deployment.environment.name': 'test' });
    expect(world.receiver.bodies.join()).not.toContain(SECRET);
    expect(world.receiver.heads.at(-1)).toMatchObject({ path: '/v1/traces', headers: { 'x-collector-key': 'abc' } });
  });

  it('children lie within their parent, in order, at the time that it is', async () => {
    await world.send('times', chatRequest());
    const spans = await world.receiver.spansOf('times', 3);
    const [server, admission, call] = spans;
    if (server === undefined || admission === undefined || call === undefined) throw new Error('spans are missing');
    expect(spans.map(({ name }) => name)).toEqual(['POST /v1/chat/completions', 'admission', 'chat demo-chat']);
    expect(server.startNs <= admission.startNs && admission.endNs <= call.startNs).toBe(true);
    expect(call.startNs <= call.endNs && call.endNs <= server.endNs).toBe(true);
    expect(Math.abs(Number(server.endNs / 1_000_000n) - Date.now())).toBeLessThan(10_000);
  });

  it('a wait in the queue is the length of its span', async () => {
    await world.engine.play({ script: [{ delayMs: 400 }, { write: CHAT_ANSWER }, { end: true }] });
    const holder = world.send('holder', chatRequest());
    await eventually(() => world.engine.requests.length > 0);
    const waiting = world.send('waiter', chatRequest());
    await Promise.all([holder, waiting]);
    const admission = named(await world.receiver.spansOf('waiter', 3), 'admission');
    expect(admission.attributes['gateway.parked']).toBe(true);
    const waitedMs = Number((await waiting).header('x-llmgw-queue-ms'));
    expect(Math.abs(Number(admission.endNs - admission.startNs) / 1e6 - waitedMs)).toBeLessThan(50);
  });

  it('a stream has the time to its first chunk', async () => {
    await world.engine.play({ sse: [deltaEvent('a'), FINISH_EVENT, DONE_EVENT] });
    await world.send('stream', streamRequest());
    const call = named(await world.receiver.spansOf('stream', 3), 'chat demo-chat');
    expect(call.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThan(0);
  });

  it.each([
    ['an unknown model', chatRequest({ model: 'nobody' }), 400, 0, undefined],
    ['an engine that is not there', chatRequest({ model: 'demo-dead' }), 502, ERROR, 'upstream_unreachable'],
  ])('%s', async (name, request, status, spanStatus, error) => {
    const id = name.replaceAll(' ', '-');
    expect((await world.send(id, request)).status).toBe(status);
    const [server] = await world.receiver.spansOf(id, 1);
    expect(server?.status).toBe(spanStatus);
    expect(server?.attributes['error.type']).toBe(error);
  });

  it('an error of the engine is one of the call, and of the server from 500 on', async () => {
    const error = { error: { message: 'no', type: 'x' } };
    await world.engine.play({ status: 422, body: error });
    await world.send('e422', chatRequest());
    await world.engine.play({ status: 500, body: error });
    await world.send('e500', chatRequest());
    const [mine, theirs] = [await world.receiver.spansOf('e422', 3), await world.receiver.spansOf('e500', 3)];
    expect(mine[0]).toMatchObject({ status: 0 });
    expect(named(mine, 'chat demo-chat')).toMatchObject({ status: ERROR, attributes: { 'error.type': '422' } });
    expect(theirs[0]).toMatchObject({ status: ERROR, attributes: { 'error.type': '500' } });
    expect(named(theirs, 'chat demo-chat')).toMatchObject({ status: ERROR, attributes: { 'error.type': '500' } });
  });

  it.each(EVERY_WAY)('goes on through $dialect $path to $name', async ({ path, dialect, name, body, answer }) => {
    await world.engine.play({ body: answer });
    const id = `${path}-${name}`.replace(/[^a-z0-9]+/g, '-');
    const request = {
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    expect((await world.send(id, request, { traceparent: parentField() })).status).toBe(200);
    const spans = await world.receiver.spansOf(id, 3);
    const call = named(spans, name);
    expect(world.engine.lastRequest?.headers['traceparent']).toBe(`00-${TRACE}-${call.spanId}-01`);
    expect(named(spans, `POST ${path}`)).toMatchObject({
      parentSpanId: CALLER,
      attributes: { 'gateway.dialect': dialect, 'http.route': path },
    });
    expect(call.attributes).toMatchObject({
      'gen_ai.operation.name': name.split(' ')[0],
      'gen_ai.request.model': body.model,
      ...(dialect !== 'openai' && { 'gen_ai.usage.input_tokens': 3, 'gen_ai.usage.output_tokens': 4 }),
    });
    expect(await world.line(id)).toMatchObject({ trace_id: TRACE, dialect });
  });

  it('a prefix continues the trace, with one traceparent only', async () => {
    const request: RequestParts = { method: 'POST', path: '/plain/x?secret=1', body: '{}', headers: {} };
    await world.send('prefix', request, { traceparent: parentField(), tracestate: 'a=1', TraceParent: parentField() });
    const spans = await world.receiver.spansOf('prefix', 3);
    expect(spans.map(({ name }) => name)).toEqual(['POST /plain', 'admission', 'POST']);
    const call = named(spans, 'POST');
    // Two traceparents are none: the trace begins here, and what came with them is dropped.
    expect(call.traceId).not.toBe(TRACE);
    expect(world.engine.lastRequest?.headers['traceparent']).toBe(`00-${call.traceId}-${call.spanId}-01`);
    expect(world.engine.lastRequest?.headers['tracestate']).toBeUndefined();
    await world.send('prefix-2', request, { traceparent: parentField(), tracestate: 'a=1' });
    const next = named(await world.receiver.spansOf('prefix-2', 3), 'POST');
    expect(next.traceId).toBe(TRACE);
    expect(world.engine.lastRequest?.headers).toMatchObject({
      traceparent: `00-${TRACE}-${next.spanId}-01`,
      tracestate: 'a=1',
    });
    expect(world.receiver.bodies.join()).not.toContain('secret=1');
  });

  it('counting tokens waits for no place, and its trace goes on all the same', async () => {
    await world.engine.play({ tokenize: { count: 7 } });
    const body = JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }] });
    const path = '/llm/v1/messages/count_tokens';
    await world.send('count', { method: 'POST', path, headers: { 'content-type': 'application/json' }, body });
    const spans = await world.receiver.spansOf('count', 2);
    expect(spans.map(({ name }) => name)).toEqual([`POST ${path}`, 'chat demo-chat']);
    expect(world.engine.asides.at(-1)?.headers['traceparent']).toContain(`${String(spans[1]?.spanId)}-01`);
  });

  it('a WebSocket continues the trace, and its spans last as long as it does', async () => {
    const { WebSocket } = await import('ws');
    const headers = { traceparent: parentField(), 'x-request-id': 'socket' };
    const client = new WebSocket(`ws://127.0.0.1:${String(world.gateway.port)}/console/x`, { headers });
    const { request } = await world.sockets.next();
    await delay(300);
    client.close();
    const spans = await world.receiver.spansOf('socket', 3);
    const call = named(spans, 'GET');
    expect(request.headers['traceparent']).toBe(`00-${TRACE}-${call.spanId}-01`);
    expect(named(spans, 'GET /console')).toMatchObject({ parentSpanId: CALLER, status: 0 });
    expect(spans[0]?.attributes['http.response.status_code']).toBe(101);
    expect(Number(call.endNs - call.startNs) / 1e6).toBeGreaterThan(250);
  });

  it('does as the caller decided, and still continues its trace', async () => {
    await world.send('unsampled', chatRequest(), { traceparent: parentField(CALLER, '00') });
    expect(world.engine.lastRequest?.headers['traceparent']).toMatch(new RegExp(`^00-${TRACE}-(?!${CALLER}).{16}-00$`));
    expect(await world.line('unsampled')).toMatchObject({ trace_id: TRACE });
    await world.send('sampled', chatRequest());
    await world.receiver.spansOf('sampled', 3);
    expect(world.receiver.spans.some(({ attributes }) => attributes['gateway.request_id'] === 'unsampled')).toBe(false);
  });

  it("loads OpenTelemetry's packages", async () => {
    expect(await packagesLoaded(world.gateway)).toBeGreaterThan(20);
  });

  it('probes are not told of', async () => {
    await world.send('probe', { method: 'GET', path: '/healthz', headers: {} });
    await world.send('behind', chatRequest());
    await world.receiver.spansOf('behind', 3);
    expect(world.receiver.spans.some(({ attributes }) => attributes['gateway.request_id'] === 'probe')).toBe(false);
  });
});

describe('a collector', () => {
  let world: TracedWorld;
  afterEach(() => world.stop());

  const told = (text: string): unknown[] => world.gateway.logs().filter(({ msg }) => msg === text);

  it('that refuses is told of once, and once when it takes traces again; requests do not notice', async () => {
    world = await TracedWorld.start();
    world.receiver.status = 400;
    for (let i = 0; i < 3; i += 1) {
      expect((await world.send(`lost-${String(i)}`, chatRequest())).status).toBe(200);
      await eventually(() => world.receiver.heads.length > i);
    }
    await eventually(() => told('traces cannot be exported, and are lost meanwhile').length > 0);
    world.receiver.status = 200;
    await world.send('found', chatRequest());
    await world.receiver.spansOf('found', 3);
    await eventually(() => told('traces are taken again').length > 0);
    expect(told('traces cannot be exported, and are lost meanwhile')).toHaveLength(1);
    expect(told('traces are taken again')).toEqual([expect.objectContaining({ lost_spans: 9 })]);
  });

  it('gets what is left when the gateway ends', async () => {
    world = await TracedWorld.start({ env: { OTEL_BSP_SCHEDULE_DELAY: '600000' } });
    await world.send('last', chatRequest());
    expect(world.receiver.spans).toEqual([]);
    expect(await world.gateway.stop()).toEqual({ code: 0, signal: null });
    expect(world.receiver.spans.map(({ name }) => name)).toContain('POST /v1/chat/completions');
  });

  it('that is not there does not hold up the end', async () => {
    world = await TracedWorld.start({ env: { OTEL_BSP_SCHEDULE_DELAY: '600000' } });
    await world.send('lost', chatRequest());
    await world.receiver.stop();
    const before = performance.now();
    expect(await world.gateway.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - before).toBeLessThan(8000);
    expect(told('traces cannot be exported, and are lost meanwhile')).toHaveLength(1);
  });

  it.each([
    [{ OTEL_SDK_DISABLED: 'true' }, parentField()],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, `00-${TRACE}-`],
  ])('gets nothing with %j', async (env, engineSees) => {
    world = await TracedWorld.start({ env });
    await world.send('quiet', chatRequest(), { traceparent: parentField() });
    expect(world.engine.lastRequest?.headers['traceparent']).toContain(engineSees);
    await world.gateway.stop();
    expect(world.receiver.heads).toEqual([]);
    const said = told('tracing is on in the configuration, and switched off by the OTEL_* variables');
    expect(said).toHaveLength('OTEL_TRACES_SAMPLER' in env ? 0 : 1);
  });

  it('is asked for at the address of the traces alone, and what cannot be done is said', async () => {
    const receiver = await OtlpReceiver.start();
    world = await TracedWorld.start({
      env: {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/mine`,
        OTEL_TRACES_SAMPLER: 'sometimes',
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
      },
    });
    await world.send('elsewhere', chatRequest());
    await receiver.spansOf('elsewhere', 3);
    await receiver.stop();
    expect(receiver.heads[0]?.path).toBe('/mine');
    expect(world.gateway.output()).toContain('OTEL_TRACES_SAMPLER is \\"sometimes\\"');
    expect(world.gateway.output()).toContain('OTEL_EXPORTER_OTLP_PROTOCOL is \\"grpc\\"');
    expect(world.gateway.output().match(/OTEL_TRACES_SAMPLER/gu)).toHaveLength(1);
  });
});

describe('with several workers', () => {
  const WORKERS = 2;
  const MOST_ROUNDS = 10;

  it('each sends spans of its own, and what is left of them at its end', async () => {
    const env = { OTEL_BSP_SCHEDULE_DELAY: '600000' };
    await using world = await TracedWorld.start({ env, server: { workers: WORKERS } });
    const ids: string[] = [];
    const workers = new Set<unknown>();
    for (let round = 0; round < MOST_ROUNDS && workers.size < WORKERS; round += 1) {
      const some = Array.from({ length: 8 }, (_, at) => `worker-${String(round)}-${String(at)}`);
      await Promise.all(some.map((id) => world.send(id, chatRequest(), { traceparent: parentField() })));
      for (const id of some) workers.add((await world.line(id))['worker']);
      ids.push(...some);
    }
    expect(workers).toEqual(new Set([1, 2]));
    expect(world.receiver.spans).toEqual([]);
    expect(await world.gateway.stop()).toEqual({ code: 0, signal: null });
    const { spans } = world.receiver;
    const servers = spans.filter(({ kind }) => kind === SERVER);
    expect(servers.map(({ attributes }) => attributes['gateway.request_id']).sort()).toEqual([...ids].sort());
    expect(new Set(servers.map(({ resource }) => resource['service.instance.id'])).size).toBe(WORKERS);
    expect(spans).toHaveLength(3 * ids.length);
    expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
  });
});

describe('with tracing off', () => {
  let world: TracedWorld;
  beforeAll(async () => {
    world = await TracedWorld.start({ env: COUNTED, tracing: false });
  }, 60_000);
  afterAll(() => world.stop());

  it('nothing that makes or sends spans is loaded', async () => {
    expect(await packagesLoaded(world.gateway)).toBe(0);
  });

  it("the caller's fields go to the engine as they came, and no collector hears of it", async () => {
    await world.send('off', chatRequest(), { traceparent: parentField(), tracestate: 'a=1' });
    expect(world.engine.lastRequest?.headers).toMatchObject({ traceparent: parentField(), tracestate: 'a=1' });
    await world.send('none', chatRequest());
    expect(world.engine.lastRequest?.headers['traceparent']).toBeUndefined();
    expect(await world.line('off')).toMatchObject({ trace_id: TRACE });
    await world.gateway.stop();
    expect(world.receiver.heads).toEqual([]);
  });
});
