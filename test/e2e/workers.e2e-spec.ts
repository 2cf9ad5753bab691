import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  chatRequest,
  chunk,
  deltaEvent,
  DONE_EVENT,
  FINISH_EVENT,
  jsonAnswer,
  LAST_CHUNK,
  STREAM_HEAD,
  streamRequest,
} from '../support/chat-wire.js';
import { EngineWorld, expectProblem } from '../support/engine-world.js';
import { LoadClient, type LoadSample } from '../support/load-client.js';
import { PlainSlotsEngine } from '../support/load-engine.js';
import { parseSamples } from '../support/metric-samples.js';
import type { RawConnection } from '../support/raw-client.js';
import { eventually } from '../support/socket-world.js';
import { TcpEngine } from '../support/tcp-engine.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

const WORKERS = 3;
const SLOTS = { limit: 8, perEndpoint: 8 };
const POLL_MS = 200;
const OBSERVE = {
  ...{ path: '/metrics', interval: `${String(POLL_MS)}ms`, timeout: '1s', staleAfter: 3 },
  ...{ kvCeiling: 0.9, maxInflight: 8, maxPark: '1s' },
};
const MODELS = [{ id: 'demo-chat', upstream: 'engine', operations: ['chat' as const] }];

/** The processes that a process has started. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** The one that has the most files and sockets open. */
async function busiestOf(pids: readonly number[]): Promise<number> {
  const counted = await Promise.all(
    pids.map(async (pid) => ({ pid, open: (await readdir(`/proc/${String(pid)}/fd`)).length })),
  );
  return counted.sort((a, b) => b.open - a.open)[0]?.pid ?? 0;
}

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
    watched = await TcpEngine.start(({ socket }) => socket.write(jsonAnswer('vllm:num_requests_running 3\n')));
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

  it('have each engine read once, and know what it says', async () => {
    const [before, since] = [watched.requests.length, performance.now()];
    await delay(1500);
    const turns = (performance.now() - since) / POLL_MS;
    expect(watched.requests.length - before).toBeGreaterThan(0);
    expect(watched.requests.length - before).toBeLessThan(1.5 * turns);
    expect(parseSamples(await gateway.metrics()).filter(({ name }) => name === 'engine_requests_running')).toEqual([
      expect.objectContaining({ value: 3 }),
    ]);
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

describe('workers with streams that live', () => {
  let world: EngineWorld;

  beforeEach(async () => {
    world = await EngineWorld.start({
      upstream: { slots: { limit: 6, perEndpoint: 6 } },
      server: { workers: WORKERS, drainDelay: '300ms', drainTimeout: '8s' },
    });
    world.engine.play(({ socket }) => socket.write(STREAM_HEAD + chunk(deltaEvent('one'))));
  }, 20_000);
  afterEach(() => world.stop(), 20_000);

  const finish = (): void => {
    for (const { socket } of world.engine.requests) socket.write(chunk(FINISH_EVENT) + chunk(DONE_EVENT) + LAST_CHUNK);
  };

  async function open(streams: number): Promise<RawConnection[]> {
    const all = await Promise.all(Array.from({ length: streams }, () => world.ask(streamRequest())));
    await eventually(() => all.every(({ socket }) => socket.bytesRead > 0));
    return all;
  }

  it('drain together: no stream is cut, newcomers are served until the listener closes, exit 0', async () => {
    const streams = (await open(6)).map((connection) => connection.response());
    world.gateway.kill('SIGTERM');
    await eventually(() => world.gateway.logs().filter(({ msg }) => msg === 'draining').length === WORKERS);
    expectProblem(await world.send({ method: 'GET', path: '/readyz' }), 503, 'not-ready');
    await delay(400);
    finish();
    for (const stream of await Promise.all(streams))
      expect([stream.end, stream.text()]).toEqual(['clean', deltaEvent('one') + FINISH_EVENT + DONE_EVENT]);
    expect(await world.gateway.exit()).toEqual({ code: 0, signal: null });
    const logs = world.gateway.logs();
    expect(logs.filter(({ msg }) => msg === 'listening')).toHaveLength(1);
    expect(new Set(logs.filter(({ msg }) => msg === 'draining').map(({ worker }) => worker))).toEqual(
      new Set([1, 2, 3]),
    );
  });

  it('end at once when told twice', async () => {
    const streams = (await open(3)).map((connection) => connection.response());
    world.gateway.kill('SIGTERM');
    await eventually(() => world.gateway.logs().some(({ msg }) => msg === 'draining'));
    world.gateway.kill('SIGTERM');
    expect((await world.gateway.exit()).code).toBe(0);
    expect((await Promise.all(streams)).map(({ end }) => end)).not.toContain('clean');
  });

  it('hold their places for all: the seventh waits for one of the six, wherever it arrives', async () => {
    await open(6);
    const waiters = await Promise.all(Array.from({ length: 3 }, () => world.ask(chatRequest())));
    const answers = waiters.map((connection) => connection.response());
    await eventually(async () => (await world.queued()) === 3);
    expect(await world.inUse()).toBe(6);
    expect(world.engine.requests).toHaveLength(6);
    world.engine.answer = ({ socket }) => socket.write(jsonAnswer());
    finish();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
    await world.slotsFree();
  });

  it('give back at once what a killed one held, and what the others hold goes on', async () => {
    let broken = 0;
    const ends = (await open(6)).map((connection) => {
      void connection.closed.then(() => (broken += 1));
      return connection.response().catch(() => undefined);
    });
    expect(await world.inUse()).toBe(6);
    process.kill(await busiestOf(await childrenOf(world.gateway.pid)), 'SIGKILL');
    await eventually(() => broken > 0);
    await eventually(async () => (await world.inUse()) === 6 - broken);
    expect(broken).toBeGreaterThanOrEqual(6 / WORKERS);
    const cut = broken;
    // As many places are free as it held, though nothing else has ended; one more has to wait.
    await open(cut);
    const next = (await world.ask(chatRequest())).response();
    await eventually(async () => (await world.queued()) === 1);
    world.engine.answer = ({ socket }) => socket.write(jsonAnswer());
    finish();
    expect((await next).status).toBe(200);
    const whole = (await Promise.all(ends)).filter((answer) => answer?.text().endsWith(DONE_EVENT));
    expect(whole).toHaveLength(6 - cut);
    await world.slotsFree();
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
