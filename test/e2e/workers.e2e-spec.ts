import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { jsonAnswer } from '../support/chat-wire.js';
import { childrenOf } from '../support/child-processes.js';
import { LoadClient, type LoadSample } from '../support/load-client.js';
import { PlainSlotsEngine } from '../support/load-engine.js';
import { parseSamples } from '../support/metric-samples.js';
import { eventually } from '../support/socket-world.js';
import { TcpEngine } from '../support/tcp-engine.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

const WORKERS = 3;
const SLOTS = { limit: 8, perEndpoint: 8 };
const POLL_MS = 200;
const OBSERVE = {
  ...{ path: '/metrics', interval: `${String(POLL_MS)}ms`, timeout: '150ms', staleAfter: 3 },
  ...{ kvCeiling: 0.9, maxInflight: 8, maxPark: '1s' },
};
const GAUGES = jsonAnswer('# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n').replace(
  'application/json',
  'text/plain; version=0.0.4',
);
const MODELS = [{ id: 'demo-chat', upstream: 'engine', operations: ['chat' as const] }];

const workersSeen = (gateway: RunningGateway): Set<unknown> =>
  new Set(
    gateway
      .logs()
      .filter(({ msg }) => msg === 'request')
      .map(({ worker }) => worker),
  );

describe('workers under load', () => {
  let engine: PlainSlotsEngine;
  let watched: TcpEngine;
  let gateway: RunningGateway;

  beforeAll(async () => {
    watched = await TcpEngine.start(({ socket }) => socket.write(GAUGES));
    engine = await PlainSlotsEngine.start({ slots: 1000, firstTokenMs: 5, serviceMs: 40, spreadMs: 30 });
    gateway = await startGateway({
      upstreams: [
        { name: 'engine', url: engine.url, engine: 'openai', slots: SLOTS },
        { name: 'watched', url: watched.url, engine: 'vllm', more: { observe: OBSERVE } },
      ],
      models: MODELS,
      server: { workers: WORKERS },
    });
  }, 20_000);
  afterAll(async () => {
    await gateway.stop();
    await engine.stop();
    await watched.stop();
  }, 20_000);

  /** So many requests, each on a connection of its own, a third of which leave before their end. */
  async function storm(requests: number, withinMs: number): Promise<{ whole: LoadSample[]; left: number }> {
    const whole: LoadSample[] = [];
    let left = 0;
    const one = async (at: number): Promise<void> => {
      await delay(Math.random() * withinMs);
      const client = new LoadClient(gateway.port, { tenant: `tenant-${String(at % 5)}` });
      const leaves = at % 3 === 0;
      if (leaves) setTimeout(() => client.stop(), Math.random() * 120);
      const sample = await client.ask().catch(() => undefined);
      client.stop();
      if (sample !== undefined) whole.push(sample);
      else if (leaves) left += 1;
    };
    await Promise.all(Array.from({ length: requests }, (_, at) => one(at)));
    return { whole, left };
  }

  it('never have more at the engine than its slots, whoever arrives and leaves, and use all of them', async () => {
    const { whole, left } = await storm(360, 1500);
    expect(whole.length + left).toBe(360);
    expect(whole.filter((sample) => sample.status !== 200 || !sample.whole)).toEqual([]);
    expect(left).toBeGreaterThan(20);
    expect(engine.peakRunning).toBe(SLOTS.limit);
    expect(engine.waiting).toBe(0);
    await eventually(async () => (await gateway.metric('slots_in_use', { upstream: 'engine' })) === 0);
    await eventually(() => workersSeen(gateway).size === WORKERS);
  });

  it('show one page, with every series once and its parts put together as they should be', async () => {
    const before = (await gateway.metric('http_requests_total')) ?? 0;
    await storm(60, 500);
    await eventually(async () => (await gateway.metric('http_requests_total')) === before + 60);
    const page = await gateway.metrics();
    const names = parseSamples(page).map(({ name, labels }) => JSON.stringify([name, Object.entries(labels).sort()]));
    expect(new Set(names).size).toBe(names.length);
    expect(page.match(/^# TYPE slots_limit gauge$/gm)).toHaveLength(1);
    const value = (name: string, labels: Record<string, string> = {}) => gateway.metric(name, labels);
    expect(await value('slots_limit', { upstream: 'engine' })).toBe(SLOTS.limit);
    expect(await value('upstream_in_flight', { upstream: 'engine' })).toBe(0);
    expect(await value('upstream_up', { upstream: 'engine' })).toBe(1);
    expect(await value('engine_batch_capacity', { upstream: 'engine' })).toBe(SLOTS.perEndpoint);
    expect(await value('http_request_duration_seconds_count')).toBe(before + 60);
    expect(await value('http_request_duration_seconds_bucket', { le: '+Inf' })).toBe(before + 60);
    expect(await value('budget_store_up')).toBe(1);
    expect(await value('process_start_time_seconds')).toBeGreaterThan(1_600_000_000);
  });

  it('have each engine read by one process, and show once what it says', async () => {
    const [before, since] = [watched.requests.length, performance.now()];
    await delay(1500);
    const turns = (performance.now() - since) / POLL_MS;
    expect(watched.requests.length - before).toBeGreaterThan(0);
    expect(watched.requests.length - before).toBeLessThan(1.5 * turns);
    const shown = parseSamples(await gateway.metrics()).filter(({ name }) => name === 'observer_degraded');
    expect(shown.map(({ labels }) => labels)).toEqual([{ upstream: 'watched' }]);
  });

  it('lose one to a kill: the others go on, its places come back, another one takes its seat, counters do not fall', async () => {
    const before = await childrenOf(gateway.pid);
    expect(before).toHaveLength(WORKERS);
    const [victim = 0] = before;
    const running = storm(240, 2000);
    await delay(700);
    const counted = (await gateway.metric('http_requests_total')) ?? 0;
    process.kill(victim, 'SIGKILL');
    const { whole } = await running;
    expect(whole.filter((sample) => sample.status !== 200 || !sample.whole)).toEqual([]);
    await eventually(() => gateway.logs().some(({ msg }) => msg === 'the worker listens'));
    const after = await childrenOf(gateway.pid);
    expect(after).toHaveLength(WORKERS);
    expect(after).not.toContain(victim);
    expect(await gateway.metric('http_requests_total')).toBeGreaterThanOrEqual(counted);
    await eventually(async () => (await gateway.metric('slots_in_use')) === 0);
    // All places are there: as many streams run at once as there are slots, and no more.
    engine.peakRunning = 0;
    await storm(60, 50);
    expect(engine.peakRunning).toBe(SLOTS.limit);
  });
});

describe('workers that cannot live', () => {
  const options = {
    upstreams: [{ name: 'engine', url: 'http://127.0.0.1:9', engine: 'openai' as const }],
    models: MODELS,
  };

  it('end the gateway with one message when they die again and again', async () => {
    const gateway = await startGateway({ ...options, server: { workers: 2 } });
    const exited = gateway.exit();
    let over = false;
    void exited.then(() => (over = true));
    for (let looks = 0; looks < 500 && !over; looks += 1) {
      const [first] = await childrenOf(gateway.pid);
      if (first !== undefined) process.kill(first, 'SIGKILL');
      await delay(20);
    }
    expect((await exited).code).toBe(1);
    const said = gateway.logs().filter(({ msg }) => String(msg).includes('giving up'));
    expect(said).toHaveLength(1);
    expect(said[0]?.['msg']).toMatch(
      /^worker [12] has ended 5 times in a row within 10 s of its start \(signal SIGKILL\)/,
    );
  });

  it('do not start where the port is taken, and say so once', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const listen = `127.0.0.1:${String((taken.address() as AddressInfo).port)}`;
    const failed = await startGateway({ ...options, server: { workers: 2, listen } }).then(
      () => 'it started',
      (error: unknown) => String(error),
    );
    taken.close();
    expect(failed).toMatch(/gateway ended \(1\) before it listened/);
    expect(failed.match(/EADDRINUSE/g)).toHaveLength(1);
  });
});
