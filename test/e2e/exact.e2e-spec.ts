import { setTimeout as delay } from 'node:timers/promises';
import { chatRequest } from '../support/chat-wire.js';
import { CountingEngine } from '../support/counting-engine.js';
import { RawConnection, requestBytes, sendRaw, type RawResponse, type RequestParts } from '../support/raw-client.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/socket-world.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

const SLOTS = 8;
const GATEWAYS = 3;
const LEASE_MS = 15_000;
/** Asks how many places are taken. */
const COUNT = 'ZCARD llmgw:slots:{engine}';

let redis: RedisServer;
let engine: CountingEngine;
let gateways: RunningGateway[];

const startOne = (): Promise<RunningGateway> =>
  startGateway({
    upstreams: [{ name: 'engine', url: engine.url, engine: 'openai', slots: { limit: SLOTS, perEndpoint: SLOTS } }],
    models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat'] }],
    server: { replicas: GATEWAYS, drainTimeout: '300ms' },
    admission: {
      store: redis.url,
      bands: [{ name: 'gold', ceiling: 1, capacity: 1024, ttl: '60s' }],
    },
  });

beforeAll(async () => {
  redis = await RedisServer.start();
}, 20_000);
afterAll(() => redis.stop(), 20_000);
beforeEach(async () => {
  await redis.restart();
  engine = await CountingEngine.start();
  gateways = await Promise.all(Array.from({ length: GATEWAYS }, startOne));
}, 60_000);
afterEach(async () => {
  await Promise.all(gateways.map((gateway) => gateway.stop('SIGKILL')));
  await engine.stop();
}, 30_000);

const at = (index: number): RunningGateway => {
  const gateway = gateways[index % GATEWAYS];
  if (gateway === undefined) throw new Error('no gateway');
  return gateway;
};

const asking = (takesMs: number, tenant = 'acme'): RequestParts => ({
  ...chatRequest({ messages: [{ role: 'user', content: `takes-${String(takesMs)}` }] }),
  headers: { 'content-type': 'application/json', 'x-llmgw-session': tenant },
});

const send = (index: number, takesMs: number): Promise<RawResponse> =>
  sendRaw(at(index).port, asking(takesMs), { timeoutMs: 40_000 });

/** Requests that are running when this settles. */
async function hold(index: number, count: number, takesMs = 60_000): Promise<RawConnection[]> {
  const before = engine.running;
  const held = await Promise.all(Array.from({ length: count }, () => RawConnection.open(at(index).port)));
  for (const connection of held) connection.send(requestBytes(asking(takesMs)));
  await eventually(() => engine.running === before + count);
  return held;
}

/** Clients that ask one of the gateways after the other, and now and then leave. Settles with how many were served. */
async function crowd(lanes: number, forMs: number, gatewayOf = (lane: number): number => lane): Promise<number> {
  const until = performance.now() + forMs;
  let served = 0;
  const lane = async (number: number): Promise<void> => {
    for (let turn = 0; performance.now() < until; turn += 1) {
      const request = asking(5 + Math.random() * 35, `tenant-${String(number % 5)}`);
      const connection = await RawConnection.open(at(gatewayOf(number + turn)).port).catch(() => undefined);
      if (connection === undefined) continue;
      connection.send(requestBytes(request));
      if (Math.random() < 0.15) await delay(Math.random() * 60);
      else {
        const answer = await connection.response({ timeoutMs: 40_000 }).catch(() => undefined);
        if (answer?.status === 200) served += 1;
      }
      connection.destroy();
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)));
  return served;
}

/** Log lines that a test has looked at already. */
const heard = new Map<RunningGateway, number>();
/** Whether one of them has taken the store for gone since. */
const gaveUp = (): boolean =>
  gateways.some((gateway) =>
    gateway
      .logs()
      .slice(heard.get(gateway) ?? 0)
      .some(({ msg }) => String(msg).startsWith('The admission store is out')),
  );

const allFree = (): Promise<void> => eventually(() => engine.running === 0);
const degraded = (index: number): Promise<number | undefined> => at(index).metric('admission_store_degraded');

describe('three gateways that count places in one Redis', () => {
  it('never have more than its slots at an engine, whoever comes and leaves, and keep them busy', async () => {
    let served = await crowd(48, 4000);
    // On a machine that is short of time a gateway may take the store for gone, and then keeps to its share.
    for (let tries = 0; tries < 3 && gaveUp(); tries += 1) {
      gateways.forEach((gateway) => heard.set(gateway, gateway.logs().length));
      await allFree();
      engine.peak = 0;
      served = await crowd(24, 2000);
    }
    expect(gaveUp()).toBe(false);
    expect(engine.peak).toBe(SLOTS);
    expect(served).toBeGreaterThan(100);
    await allFree();
    for (const gateway of gateways) expect(await gateway.metric('slots_in_use')).toBe(0);
    expect(await redis.command(COUNT)).toBe(':0');
  }, 30_000);

  it('give places of one that stands still to others after its leases, none that it still uses when it goes on, and all once it is killed', async () => {
    await hold(1, SLOTS);
    at(1).kill('SIGSTOP');
    expect((await send(0, 1)).status).toBe(200);
    at(1).kill('SIGCONT');
    // What ran at the engine still runs: it is counted again, and until it ends the others get nothing.
    await eventually(async () => (await redis.command(COUNT)) === `:${String(SLOTS)}`);
    const waiting = send(0, 1).then(({ status }) => status);
    expect(await Promise.race([waiting, delay(1_500, 'waits')])).toBe('waits');
    engine.peak = 0;
    const killedAt = performance.now();
    at(1).kill('SIGKILL');
    await at(1).exit();
    expect(await waiting).toBe(200);
    const waitedMs = performance.now() - killedAt;
    expect(waitedMs).toBeGreaterThan(LEASE_MS - 5_500);
    expect(waitedMs).toBeLessThan(LEASE_MS + 3_000);
    const served = await crowd(24, 1000, (turn) => (turn % 2) * 2);
    expect(served).toBeGreaterThan(50);
    expect(engine.peak).toBe(SLOTS);
  }, 60_000);

  it('do without it when it stands still, and refuse nobody for it; then count again, and nothing twice', async () => {
    expect(await Promise.all([degraded(0), degraded(1), degraded(2)])).toEqual([0, 0, 0]);
    redis.pause();
    const startedAt = performance.now();
    const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => send(index, 20)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    await eventually(async () => (await degraded(0)) === 1);
    redis.resume();
    await eventually(async () =>
      (await Promise.all([degraded(0), degraded(1), degraded(2)])).every((one) => one === 0),
    );
    engine.peak = 0;
    await crowd(48, 1500);
    expect(engine.peak).toBe(SLOTS);
    const told = at(0)
      .logs()
      .filter(({ msg }) => String(msg).startsWith('The admission store'));
    expect(told.map(({ level }) => level)).toEqual([40, 30]);
  }, 40_000);

  it('know what runs when it is started again, empty', async () => {
    const held = await hold(1, SLOTS - 1);
    await redis.restart();
    await eventually(async () => (await redis.command(COUNT)) === `:${String(SLOTS - 1)}`);
    await eventually(async () =>
      (await Promise.all([degraded(0), degraded(1), degraded(2)])).every((one) => one === 0),
    );
    engine.peak = 0;
    await crowd(12, 1500, (turn) => (turn % 2) * 2);
    expect(engine.peak).toBe(SLOTS);
    for (const connection of held) connection.destroy();
    await allFree();
  }, 40_000);
});
