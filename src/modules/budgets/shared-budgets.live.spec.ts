import { setTimeout as delay } from 'node:timers/promises';
import { RedisServer } from '../../../test/support/redis-server.js';
import { eventually } from '../../../test/support/socket-world.js';
import { systemClock } from '../../common/clock.js';
import type { OperatorLog } from '../../common/operator-log.js';
import type { Principal } from '../../common/principal.js';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import { RedisClient } from '../shared-store/redis-client.js';
import { Budgets } from './budgets.js';
import { SharedBudgets, watchStore } from './shared-budgets.js';
import type { Reservation } from './reservation.js';

/** Longer than any test, so that nothing comes back by itself. */
const WINDOW_MS = 600_000;
const REPLICAS = 3;

interface Told {
  readonly level: string;
  readonly text: string;
  readonly cause: unknown;
}

/** One of the gateways that share a Redis. */
class Replica {
  readonly told: Told[] = [];
  readonly store: RedisClient;
  readonly budgets: Budgets;
  private readonly log: OperatorLog;

  constructor(url: string, windowMs = WINDOW_MS) {
    this.store = new RedisClient(url, systemClock);
    const write =
      (level: string) =>
      (fields: object, text: string): void =>
        void this.told.push({ level, text, cause: 'cause' in fields ? fields.cause : undefined });
    const log: OperatorLog = { info: write('info'), warn: write('warn'), error: write('error') };
    const limits = { requests: 100_000, tokens: 1000 };
    const tenants = [{ name: 'few', requests: 3, tokens: 1000 }];
    this.budgets = new Budgets(
      { windowMs, default: limits, tenants },
      REPLICAS,
      systemClock,
      new SharedBudgets(this.store, windowMs),
    );
    this.log = log;
  }

  async connect(): Promise<void> {
    await this.store.ready(5000);
    watchStore(this.store, this.log);
  }

  async reserve(tokens: number, tenant = 'acme'): Promise<Reservation> {
    const caller: Principal = { tenant, band: 'gold', scopes: undefined };
    return this.budgets.reserve(caller, tokens);
  }

  async refused(tokens: number, tenant?: string): Promise<GatewayProblem> {
    const outcome = await this.reserve(tokens, tenant).catch((error: unknown) => error);
    if (outcome instanceof GatewayProblem) return outcome;
    throw new Error('it was not refused');
  }

  /** What is left of the tokens, as an answer would say it. */
  async left(tenant?: string): Promise<number> {
    using probe = await this.reserve(0, tenant);
    return Number(/"tokens";r=(\d+)/.exec(probe.fields[3] ?? '')?.[1]);
  }
}

let redis: RedisServer;
let replicas: Replica[];

async function start(windowMs?: number): Promise<[Replica, Replica, Replica]> {
  const all = [0, 1, 2].map(() => new Replica(redis.url, windowMs));
  replicas = all;
  await Promise.all(all.map((replica) => replica.connect()));
  expect(all.map(({ budgets }) => budgets.storeUp)).toEqual([true, true, true]);
  return all as [Replica, Replica, Replica];
}

beforeAll(async () => {
  redis = await RedisServer.start();
}, 20_000);
afterAll(() => redis.stop(), 20_000);
beforeEach(() => redis.restart(), 20_000);
afterEach(async () => {
  for (const { store } of replicas) await store.close();
});

const giveBack = (reservation: Reservation): void => reservation[Symbol.dispose]();

describe('budgets in a Redis that three gateways share', () => {
  it('are one budget, whoever asks, to the last token', async () => {
    const all = await start();
    const asked = Array.from({ length: 300 }, (_, at) => (all[at % 3] ?? all[0]).reserve(7));
    const outcomes = await Promise.allSettled(asked);
    const granted = outcomes.filter(({ status }) => status === 'fulfilled').length;
    expect(granted).toBe(Math.floor(1000 / 7));
    expect(await all[0].left()).toBe(1000 - granted * 7);
  });

  it('count requests, and say how long this one has to wait', async () => {
    const [one, two, three] = await start();
    await one.reserve(1, 'few');
    await two.reserve(1, 'few');
    await three.reserve(1, 'few');
    const { options } = await one.refused(1, 'few');
    expect(options.extensions).toEqual({ budget: 'requests', limit: 3, remaining: 0, window: 600 });
    expect(options.retryAfterSeconds).toBeGreaterThan(600);
    expect(options.retryAfterSeconds).toBeLessThanOrEqual(610);
  });

  it('settle and give back at any of them what was reserved at one, and each thing once', async () => {
    const [one, two] = await start();
    const first = await one.reserve(1000);
    await two.refused(1);
    first.settle(10);
    giveBack(first);
    await eventually(async () => (await two.left()) === 990);
    const second = await two.reserve(990);
    giveBack(second);
    second.settle(990);
    await eventually(async () => (await one.left()) === 990);
    (await one.reserve(90)).settle(1000);
    await eventually(async () => (await two.left()) === 0);
  });

  it('are back after the window, and leave nothing behind in the store', async () => {
    const [one, two] = await start(600);
    await one.reserve(1000);
    expect((await two.refused(1)).options.retryAfterSeconds).toBeLessThanOrEqual(0.61);
    await delay(620);
    await two.reserve(1000);
    await delay(700);
    await eventually(async () => (await redis.command('EXISTS llmgw:budget:{acme}:600')) === ':0');
  });

  it('do without it when it is killed: each grants its share, one line says so, and nobody is refused for it', async () => {
    const [one, two, three] = await start();
    const held = await one.reserve(1000);
    await redis.kill();
    await eventually(() => replicas.every(({ budgets }) => !budgets.storeUp));
    for (const replica of [one, two, three]) {
      await replica.reserve(333);
      await replica.refused(1);
    }
    held.settle(10);
    await redis.restart();
    await eventually(() => replicas.every(({ budgets }) => budgets.storeUp));
    // The store has lost what was reserved: that must not be given back to it.
    expect(await one.left()).toBe(1000);
    await two.reserve(600);
    await three.refused(401);
    for (const { told } of replicas) {
      expect(told.map(({ level }) => level)).toEqual(['warn', 'info']);
      expect(told[0]?.cause).toBe('the connection was lost');
    }
  });

  it('do not wait for it when it stands still, and count nothing twice when it goes on', async () => {
    const [one, two] = await start();
    await one.reserve(100);
    redis.pause();
    const startedAt = performance.now();
    const local = await Promise.all([one.reserve(10), one.reserve(10), one.reserve(10), two.reserve(10)]);
    expect(one.budgets.storeUp).toBe(false);
    const waitedMs = performance.now() - startedAt;
    expect(waitedMs).toBeLessThan(1000);
    // From now on nobody waits at all.
    const promptly = await Promise.race([one.reserve(10), Promise.resolve('waits')]);
    expect(promptly === 'waits').toBe(false);
    redis.resume();
    await eventually(() => replicas.every(({ budgets }) => budgets.storeUp));
    expect(await two.left()).toBe(900);
    local.forEach((reservation) => reservation.settle(5));
    await delay(50);
    expect(await two.left()).toBe(900);
  });

  it('take a settlement that is made while the connection is gone, once it is back', async () => {
    const [one, two] = await start();
    const held = await one.reserve(800);
    await redis.command('CLIENT KILL TYPE normal');
    await eventually(() => !one.budgets.storeUp);
    held.settle(100);
    await eventually(() => replicas.every(({ budgets }) => budgets.storeUp));
    await eventually(async () => (await two.left()) === 900);
  });

  it('are out while the store only reads', async () => {
    const [one] = await start();
    await redis.command('REPLICAOF 127.0.0.1 9');
    await eventually(() => replicas.every(({ budgets }) => !budgets.storeUp));
    expect(one.told.at(-1)?.cause).toBe('READONLY');
    await one.reserve(10);
  });
});
