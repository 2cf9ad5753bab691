import { setTimeout as delay } from 'node:timers/promises';
import { SERIES, type SeriesName } from '../../src/modules/telemetry/series.js';
import { FAST } from '../../src/sim/core/profiles.js';
import { startVllm, type VllmServer } from '../../src/sim/vllm.js';
import { CHAT_ANSWER, chatRequest, DONE_EVENT, deltaEvent, FINISH_EVENT, streamRequest } from '../support/chat-wire.js';
import { IdentityWorld } from '../support/identity-world.js';
import { findSample, parseSamples, type Labels } from '../support/metric-samples.js';
import { RawConnection, requestBytes, sendRaw, type RawResponse, type RequestParts } from '../support/raw-client.js';
import { ScriptedEngine } from '../support/scripted-engine.js';
import { eventually } from '../support/socket-world.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

import.meta.jest.setTimeout(15_000);

const ALL = Object.keys(SERIES) as SeriesName[];

const OBSERVE = {
  path: '/metrics',
  interval: '100ms',
  timeout: '90ms',
  staleAfter: 2,
  kvCeiling: 0.9,
  maxInflight: 4,
  maxPark: '10s',
};
const ANSWER = { body: JSON.parse(CHAT_ANSWER) as unknown };
const CHAT = '/v1/chat/completions';
const SECRET = 'nobody-may-read-this';
const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

let sim: VllmServer;
let engine: ScriptedEngine;
let gateway: RunningGateway;
let guarded: IdentityWorld;
let page = '';
/** Of the gateway that knows who calls. */
let guardedPage = '';

const send = (request: RequestParts): Promise<RawResponse> => sendRaw(gateway.port, request);
const inBand = (request: RequestParts, band: string): RequestParts => ({
  ...request,
  headers: { ...(request.headers as Record<string, string>), 'x-llmgw-band': band },
});
const hold = (ms: number) => ({
  headers: { 'content-type': 'application/json' },
  script: [{ delayMs: ms }, { write: CHAT_ANSWER }, { end: true as const }],
});
const pages = (): string => `${page}\n${guardedPage}`;
const valueOf = (name: SeriesName, labels: Labels): number | undefined => findSample(page, name, labels);

/** Everything that can happen to requests, once. */
async function drive(): Promise<void> {
  await send(streamRequest({ model: 'reasoning', max_tokens: 20 }));
  await send(chatRequest());
  await send(chatRequest({ model: 'nobody' }));
  await send(chatRequest({ model: 'dead' }));
  await engine.play({ status: 400, body: { error: { message: 'no' } } });
  await send(chatRequest());
  await waitInVain();
  await beat();
  await leave();
}

/** One request holds the only slot: one waits for it, one too long, and one leaves. */
async function waitInVain(): Promise<void> {
  await engine.play(hold(800));
  const holder = send(chatRequest());
  await eventually(() => engine.requests.length > 0);
  const waiter = send(chatRequest());
  const late = send(inBand(chatRequest(), 'bronze'));
  const leaver = await RawConnection.open(gateway.port);
  leaver.send(requestBytes(chatRequest()));
  await eventually(async () => (await gateway.metric('admission_queue_depth', { upstream: 'engine' })) === 3);
  leaver.destroy();
  expect((await late).status).toBe(504);
  await Promise.all([holder, waiter]);
}

async function beat(): Promise<void> {
  const events = [deltaEvent('a'), FINISH_EVENT, DONE_EVENT];
  await engine.play({ script: [{ delayMs: 500 }, { write: events.join('') }, { end: true }] });
  expect((await send(streamRequest())).text()).toContain(': keep-alive');
}

async function leave(): Promise<void> {
  await engine.play(hold(3000));
  const client = await RawConnection.open(gateway.port);
  client.send(requestBytes(chatRequest()));
  await eventually(() => engine.requests.length > 0);
  client.destroy();
  await engine.sawAbort();
}

/** Behind a provider of tokens: somebody without one, somebody within a budget, and beyond it. */
async function askWithTokens(): Promise<void> {
  const token = await guarded.identity.token('svc-chat');
  const answers = [await guarded.chat(undefined), await guarded.chat(token), await guarded.chat(token)];
  expect(answers.map(({ status }) => status)).toEqual([401, 200, 429]);
}

beforeAll(async () => {
  sim = await startVllm({ models: ['reasoning'], profile: FAST });
  engine = await ScriptedEngine.start(ANSWER);
  const one = { limit: 1, perEndpoint: 1 };
  gateway = await startGateway({
    upstreams: [
      { name: 'sim', url: sim.url, engine: 'vllm', more: { observe: OBSERVE } },
      { name: 'engine', url: engine.url, engine: 'openai', slots: one },
      { name: 'dead', url: 'http://127.0.0.1:9', engine: 'vllm', more: { observe: OBSERVE } },
    ],
    models: [
      { id: 'reasoning', upstream: 'sim', operations: ['chat'] },
      { id: 'demo-chat', upstream: 'engine', operations: ['chat'] },
      { id: 'dead', upstream: 'dead', operations: ['chat'] },
    ],
    admission: {
      heartbeat: '100ms',
      bands: [
        { name: 'platinum', ceiling: 1, capacity: 64, ttl: '20s' },
        { name: 'gold', ceiling: 1, capacity: 128, ttl: '20s' },
        { name: 'bronze', ceiling: 1, capacity: 512, ttl: '300ms' },
      ],
    },
  });
  guarded = await IdentityWorld.start({ budgets: { default: { requests: 1, tokens: 1_000_000 } } });
  await Promise.all([drive(), askWithTokens()]);
  await delay(400);
  [page, guardedPage] = await Promise.all([gateway.metrics(), guarded.edge.gateway.metrics()]);
}, 60_000);

afterAll(async () => {
  await Promise.all([gateway.stop(), guarded.stop()]);
  await Promise.all([engine.stop(), sim.close()]);
});

describe('the page of metrics', () => {
  it.each(ALL)('has %s as it is defined', (name) => {
    const { type, help, labels } = SERIES[name];
    expect(pages()).toContain(`# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`);
    const sample = type === 'histogram' ? `${name}_count` : name;
    const found = parseSamples(pages()).filter((each) => each.name === sample);
    expect(found.length).toBeGreaterThan(0);
    for (const each of found) expect(Object.keys(each.labels).sort()).toEqual([...labels].sort());
  });

  it('has no series of the gateway that the list does not define', () => {
    const shown = [...pages().matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
    expect(shown.filter((name) => !/^(process|nodejs)_/.test(name) && !(name in SERIES))).toEqual([]);
  });

  // prettier-ignore
  it.each<[SeriesName, Labels, number]>([
    ['http_requests_total', { route: CHAT, upstream: 'sim', method: 'POST', status: '200' }, 1],
    ['http_requests_total', { route: CHAT, upstream: 'engine', method: 'POST', status: '499' }, 2],
    ['http_requests_total', { route: CHAT, upstream: 'none', method: 'POST', status: '400' }, 1],
    ['http_rejected_total', { route: CHAT, reason: 'unknown_model' }, 1],
    ['http_rejected_total', { route: CHAT, reason: 'queue_timeout' }, 1],
    ['upstream_requests_total', { upstream: 'sim', outcome: 'ok' }, 1],
    ['upstream_requests_total', { upstream: 'dead', outcome: 'refused' }, 1],
    ['upstream_requests_total', { upstream: 'engine', outcome: 'client_error' }, 1],
    ['upstream_requests_total', { upstream: 'engine', outcome: 'cancelled' }, 1],
    ['upstream_up', { upstream: 'sim' }, 1],
    ['upstream_up', { upstream: 'engine' }, 1],
    ['upstream_up', { upstream: 'dead' }, 0],
    ['slots_in_use', { upstream: 'engine' }, 0],
    ['slots_limit', { upstream: 'engine' }, 1],
    ['admission_queue_depth', { upstream: 'engine', band: 'gold' }, 0],
    ['admission_parked_total', { upstream: 'engine', band: 'gold' }, 2],
    ['admission_parked_total', { upstream: 'engine', band: 'bronze' }, 1],
    ['admission_rejected_total', { upstream: 'engine', band: 'bronze', reason: 'queue_timeout' }, 1],
    ['admission_rejected_total', { upstream: 'engine', band: 'gold', reason: 'cancelled' }, 1],
    ['client_disconnects_total', { route: CHAT, phase: 'queued' }, 1],
    ['client_disconnects_total', { route: CHAT, phase: 'head' }, 1],
    ['llm_tokens_total', { upstream: 'sim', model: 'reasoning', kind: 'completion' }, 20],
    ['engine_state_stale_total', { upstream: 'dead' }, 1],
    ['observer_degraded', { upstream: 'dead' }, 1],
    ['observer_degraded', { upstream: 'sim' }, 0],
    ['budget_store_up', {}, 1],
    ['admission_store_degraded', {}, 0],
  ])('counts %s %j', (name, labels, value) => {
    expect(valueOf(name, labels)).toBe(value);
  });

  it.each<[SeriesName, Labels, number]>([
    ['auth_rejected_total', { reason: 'missing' }, 1],
    ['jwks_refresh_total', { outcome: 'ok' }, 1],
    ['budget_rejected_total', { kind: 'requests' }, 1],
    ['budget_rejected_total', { kind: 'tokens' }, 0],
  ])('counts, where callers are known, %s %j', (name, labels, value) => {
    expect(findSample(guardedPage, name, labels)).toBe(value);
  });

  it('counts what takes time in seconds', () => {
    const waited = valueOf('admission_wait_seconds_sum' as SeriesName, { upstream: 'engine', band: 'gold' });
    expect(waited).toBeGreaterThan(0.3);
    expect(waited).toBeLessThan(8);
    expect(valueOf('stream_heartbeats_total', { upstream: 'engine', dialect: 'openai' })).toBeGreaterThan(1);
    expect(valueOf('admission_decisions_total', { upstream: 'engine', test: 'limit' })).toBeGreaterThan(0);
    expect(valueOf('engine_scrape_faults_total', { upstream: 'dead', reason: 'connect' })).toBeGreaterThan(1);
  });

  it("has Node's own: event loop lag above all", () => {
    for (const name of ['nodejs_eventloop_lag_p99_seconds', 'process_resident_memory_bytes', 'process_open_fds'])
      expect(findSample(page, name)).toBeDefined();
  });
});

describe('the line of a request', () => {
  const lineOf = async (id: string): Promise<Record<string, unknown>> => {
    const find = () => gateway.logs().find(({ request_id }) => request_id === id);
    await eventually(() => find() !== undefined);
    return find() ?? {};
  };
  const named = (request: RequestParts, id: string): RequestParts => ({
    ...request,
    headers: { ...(request.headers as Record<string, string>), 'x-request-id': id, traceparent: TRACEPARENT },
  });

  it('has every field that there is', async () => {
    const request = streamRequest({ model: 'reasoning', max_tokens: 5, user: SECRET });
    const answer = await send(
      named({ ...request, headers: { ...request.headers, 'x-llmgw-session': 'acme' } }, 'full'),
    );
    const line = await lineOf('full');
    expect(line).toMatchObject({
      level: 30,
      request_id: 'full',
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      route: CHAT,
      method: 'POST',
      dialect: 'openai',
      model: 'reasoning',
      upstream: 'sim',
      tenant: 'acme',
      band: 'gold',
      status: 200,
      phase: 'done',
      outcome: 'ok',
      queue_ms: 0,
      request_bytes: Buffer.byteLength(String(request.body)),
      response_bytes: answer.body.length,
      completion_tokens: 5,
      msg: 'request',
    });
    for (const name of ['time', 'ttft_ms', 'duration_ms', 'prompt_tokens'])
      expect(line[name]).toEqual(expect.any(Number));
  });

  it('of a rejected one is a warning with its reason, and quotes nothing', async () => {
    await send(named(chatRequest({ model: 'nobody', user: SECRET }), 'rejected'));
    expect(await lineOf('rejected')).toMatchObject({
      level: 40,
      status: 400,
      phase: 'upload',
      reason: 'unknown_model',
      msg: 'request rejected',
    });
    expect(gateway.output()).not.toContain(SECRET);
  });
});

it('the last request or probe tells whether an upstream is up', async () => {
  await engine.play(ANSWER);
  await send(chatRequest());
  expect(await gateway.metric('upstream_up', { upstream: 'engine' })).toBe(1);
  await engine.play({ script: [{ reset: true }] });
  await send(chatRequest());
  expect(await gateway.metric('upstream_up', { upstream: 'engine' })).toBe(0);
});
