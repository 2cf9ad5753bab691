import { setTimeout as delay } from 'node:timers/promises';
import { SLOTS } from '../../src/sim/core/profiles.js';
import { startVllm, type VllmServer } from '../../src/sim/vllm.js';
import { chatRequest, streamRequest } from '../support/chat-wire.js';
import { expectProblem } from '../support/engine-world.js';
import type { JsonObject } from '../support/json.js';
import { ENGINES_HOST, EngineNames } from '../support/load-names.js';
import { sendRaw, type RawResponse } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import { startGateway, type RunningGateway, type StartOptions } from '../support/start-gateway.js';

const POLL_MS = 250;
const observe = (more: JsonObject = {}): JsonObject => ({
  path: '/metrics',
  interval: `${String(POLL_MS)}ms`,
  timeout: '240ms',
  staleAfter: 3,
  kvCeiling: 0.9,
  maxInflight: 4,
  maxPark: '20s',
  ...more,
});

/** Four places, and every request takes so long. */
const engineOf = (serviceMs: number, more: { host?: string; port?: number } = {}): Promise<VllmServer> =>
  startVllm({ models: ['demo-chat', 'other-chat'], profile: { ...SLOTS, serviceMs }, reasons: false, ...more });

interface TroubleOptions {
  readonly observe?: JsonObject;
  readonly url?: string;
  readonly upstream?: JsonObject;
  readonly other?: VllmServer;
  readonly how?: StartOptions;
}

function startInFront(
  engine: VllmServer,
  { observe: gate = observe(), url = engine.url, upstream, other, how }: TroubleOptions = {},
): Promise<RunningGateway> {
  const one = { engine: 'vllm' as const, slots: { limit: 8, perEndpoint: 4 } };
  return startGateway(
    {
      upstreams: [
        { ...one, name: 'engine', url, more: { observe: gate, ...upstream } },
        ...(other === undefined ? [] : [{ ...one, name: 'other', url: other.url }]),
      ],
      models: [
        { id: 'demo-chat', upstream: 'engine', operations: ['chat'] },
        ...(other === undefined ? [] : [{ id: 'other-chat', upstream: 'other', operations: ['chat' as const] }]),
      ],
      server: { drainTimeout: '300ms' },
      admission: {
        retryAfter: '2s',
        bands: [{ name: 'gold', ceiling: 1, capacity: 64, ttl: '20s' }],
      },
    },
    how,
  );
}

let engines: VllmServer[];
let gateway: RunningGateway;
let names: EngineNames | undefined;
beforeEach(() => {
  engines = [];
  names = undefined;
});
afterEach(async () => {
  await gateway.stop();
  await Promise.all(engines.map((engine) => engine.close()));
  await names?.stop();
}, 30_000);

async function engineThat(...options: Parameters<typeof engineOf>): Promise<VllmServer> {
  const engine = await engineOf(...options);
  engines.push(engine);
  return engine;
}

const tokens = (outputTokens: number): JsonObject => ({ sim: { output_tokens: outputTokens } });
const send = (members: JsonObject = {}): Promise<RawResponse> =>
  sendRaw(gateway.port, chatRequest({ ...tokens(2), ...members }));
const sendMany = (count: number): Promise<RawResponse[]> => Promise.all(Array.from({ length: count }, () => send()));
const statuses = (answers: readonly RawResponse[]): number[] => answers.map(({ status }) => status);
const served = (count: number): number[] => Array.from({ length: count }, () => 200);
const metric = (name: string, labels: Record<string, string> = {}) =>
  gateway.metric(name, { upstream: 'engine', ...labels });

/** Settles when the gateway has read the gauges so many times more. */
async function polled(engine: VllmServer, times = 1): Promise<void> {
  const { polls } = engine.stats();
  // The next poll begins only when the one before has been read.
  await eventually(() => engine.stats().polls > polls + times);
}

/** The most that an engine has had at one time, running and waiting for their first step, while something lasts. */
async function mostDuring(engine: VllmServer, lasts: Promise<unknown>): Promise<number> {
  let most = 0;
  const look = setInterval(() => {
    const { running, waiting } = engine.stats();
    most = Math.max(most, running + waiting);
  }, 5);
  await lasts;
  clearInterval(look);
  return most;
}

describe('gauges that are gone', () => {
  it.each([
    ['status', { status: 500 }],
    ['timeout', { hang: true }],
    ['connect', { body: 'truncated' as const }],
  ])(
    'open their gate, are counted once, and the slots go on holding: %s',
    async (reason, metrics) => {
      const engine = await engineThat(300);
      gateway = await startInFront(engine, { observe: observe({ maxInflight: 2 }) });
      await polled(engine);
      const gated = sendMany(6);
      expect(await mostDuring(engine, gated)).toBe(2);
      expect(statuses(await gated)).toEqual(served(6));
      expect(await metric('admission_decisions_total', { test: 'max_inflight' })).toBeGreaterThan(0);

      engine.setFaults({ metrics });
      await eventually(async () => (await metric('engine_state_stale_total')) === 1);
      expect(await metric('engine_scrape_faults_total', { reason })).toBeGreaterThanOrEqual(3);
      expect(await metric('observer_degraded')).toBe(1);
      expect(await metric('engine_requests_running')).toBeUndefined();
      const blind = sendMany(10);
      expect(await mostDuring(engine, blind)).toBe(4);
      expect(statuses(await blind)).toEqual(served(10));
      expect(await metric('engine_state_stale_total')).toBe(1);

      engine.setFaults({});
      await eventually(async () => (await metric('observer_degraded')) === 0);
      await polled(engine);
      const again = sendMany(6);
      expect(await mostDuring(engine, again)).toBe(2);
      await again;
      engine.setFaults({ metrics });
      await eventually(async () => (await metric('engine_state_stale_total')) === 2);
    },
    30_000,
  );

  it.each([
    ['bytes that mean nothing', { body: 'hostile' as const }],
    ['a web page', { body: 'html' as const }],
  ])('are not believed, and service goes on: %s', async (_, metrics) => {
    const engine = await engineThat(100);
    engine.setFaults({ metrics });
    gateway = await startInFront(engine);
    await eventually(async () => (await metric('observer_degraded')) === 1);
    expect(statuses(await sendMany(8))).toEqual(served(8));
    const page = await gateway.metrics();
    expect(page).toMatch(/^engine_scrape_faults_total\{.*upstream="engine".*\} [1-9]/m);
    expect(page).not.toMatch(/NaN|Infinity/);
    expect(engine.stats().peakRunning).toBeLessThanOrEqual(4);
  });

  it('hold up no start: what is not known yet is no reason to let everybody in', async () => {
    const engine = await engineThat(300);
    engine.setFaults({ metrics: { hang: true } });
    gateway = await startInFront(engine);
    const first = sendMany(12);
    expect(await mostDuring(engine, first)).toBe(4);
    expect(statuses(await first)).toEqual(served(12));
  });
});

describe('an engine that starts anew', () => {
  it('is given one request, then two, then four, with every reading more', async () => {
    const engine = await engineThat(5000);
    gateway = await startInFront(engine, { observe: observe({ interval: '600ms' }) });
    await polled(engine);
    engine.crash();
    await polled(engine, 0);
    await delay(100);
    const { polls } = engine.stats();
    const looks: { readonly readings: number; readonly running: number }[] = [];
    const answers = sendMany(4);
    await eventually(() => {
      const { running, polls: now } = engine.stats();
      looks.push({ readings: now - polls, running });
      return running === 4;
    });
    for (const { readings, running } of looks) expect(running).toBeLessThanOrEqual(2 ** readings);
    expect(looks.some(({ running }) => running === 1)).toBe(true);
    expect(await metric('admission_decisions_total', { test: 'ready' })).toBeGreaterThan(0);
    expect(statuses(await answers)).toEqual(served(4));
  }, 20_000);

  it('loses what it ran, which is told, and is asked again at once', async () => {
    const engine = await engineThat(400);
    gateway = await startInFront(engine);
    const stream = sendRaw(gateway.port, streamRequest(tokens(4)));
    const whole = send();
    await eventually(() => engine.stats().running === 2);
    await delay(100);
    engine.crash();
    const cut = await stream;
    expect([cut.status, cut.end]).toEqual([200, 'clean']);
    expect(cut.text()).toMatch(/data: \{"error":.*\}\n\n$/);
    expectProblem(await whole, 502);
    expect((await send()).status).toBe(200);
    await eventually(async () => (await metric('slots_in_use')) === 0);
  });
});

describe('callers that go past the gateway', () => {
  const bypass = (engine: VllmServer, count: number): Promise<RawResponse[]> =>
    Promise.all(Array.from({ length: count }, () => sendRaw(engine.port, chatRequest(tokens(2)))));

  it('are seen in the gauges: the gateway adds no more than fits beside them', async () => {
    const engine = await engineThat(1500);
    gateway = await startInFront(engine);
    const direct = bypass(engine, 3);
    await eventually(() => engine.stats().running === 3);
    await polled(engine);
    const ours = sendMany(6);
    expect(await mostDuring(engine, ours)).toBe(4);
    expect(statuses(await ours)).toEqual(served(6));
    expect(statuses(await direct)).toEqual(served(3));
    expect(await metric('admission_decisions_total', { test: 'max_inflight' })).toBeGreaterThan(0);
  }, 20_000);

  it('may fill the engine for longer than maxPark: then 503 with a time to come back', async () => {
    const engine = await engineThat(4000);
    gateway = await startInFront(engine, { observe: observe({ maxPark: '500ms' }) });
    const direct = bypass(engine, 4);
    await eventually(() => engine.stats().running === 4);
    await polled(engine);
    const refused = await send();
    expectProblem(refused, 503, 'engine-saturated');
    expect(Number(refused.header('retry-after'))).toBeGreaterThanOrEqual(2);
    expect(await metric('admission_rejected_total', { reason: 'engine_saturated' })).toBe(1);
    expect(engine.stats().requests).toBe(4);
    await direct;
  }, 20_000);
});

describe('an endpoint that vanishes', () => {
  it('is told at once where it was the only one, again and again, and nobody else suffers', async () => {
    const [engine, other] = [await engineThat(50), await engineThat(50)];
    gateway = await startInFront(engine, { other });
    expect((await send()).status).toBe(200);
    await engine.refuse();
    for (let i = 0; i < 5; i += 1) {
      const refused = await send();
      expectProblem(refused, 502, 'upstream-unreachable');
      // It did not wait for an endpoint that was not there.
      expect(refused.header('x-llmgw-queue-ms')).toBeUndefined();
    }
    expect(statuses(await Promise.all([1, 2, 3].map(() => send({ model: 'other-chat' }))))).toEqual(served(3));
    expect(await metric('upstream_requests_total', { outcome: 'refused' })).toBe(5);
    await engine.accept();
    expect((await send()).status).toBe(200);
  });

  async function pair(serviceMs: number): Promise<[VllmServer, VllmServer]> {
    const first = await engineThat(serviceMs);
    const second = await engineThat(serviceMs, { host: '127.0.0.2', port: first.port });
    names = await EngineNames.start([first.host, second.host]);
    const url = `http://${ENGINES_HOST}:${String(first.port)}`;
    gateway = await startInFront(first, { url, upstream: { discover: 'dns' }, how: names.how });
    return [first, second];
  }

  it('is passed over: everybody is served by the other one, those too that had been sent to it', async () => {
    const [first, second] = await pair(100);
    expect(statuses(await sendMany(8))).toEqual(served(8));
    expect([first.stats().requests, second.stats().requests]).toEqual([4, 4]);
    await first.refuse();
    expect(statuses(await sendMany(12))).toEqual(served(12));
    expect(second.stats().requests).toBe(4 + 12);
    expect(second.stats().peakRunning).toBeLessThanOrEqual(4);
    expect(await metric('slots_in_use')).toBe(0);
    await first.accept();
    await eventually(async () => {
      await sendMany(8);
      return first.stats().requests > 4;
    });
  }, 20_000);

  it('that its name forgets gets no more requests, its series go, and what it runs is finished', async () => {
    const [first, second] = await pair(6500);
    const running = sendMany(2);
    await eventually(() => first.stats().running === 1 && second.stats().running === 1);
    const endpoint = `127.0.0.1:${String(first.port)}`;
    expect(await metric('engine_batch_capacity', { endpoint })).toBe(4);
    await names?.become([second.host]);
    await eventually(async () => (await metric('engine_batch_capacity', { endpoint })) === undefined);
    expect(await metric('engine_requests_running', { endpoint })).toBeUndefined();
    const late = sendMany(3);
    await eventually(() => second.stats().running === 4);
    expect(first.stats().requests).toBe(1);
    expect(statuses(await running)).toEqual(served(2));
    expect(statuses(await late)).toEqual(served(3));
    await eventually(async () => (await metric('slots_in_use')) === 0);
  }, 30_000);
});
