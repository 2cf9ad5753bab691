import { setTimeout as delay } from 'node:timers/promises';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/socket-world.js';
import { startGateway } from '../support/start-gateway.js';

/** More than a busy machine adds, less than the library's own wait of two seconds. */
const LONGER_MS = 1500;

describe('the end of a gateway whose store has gone', () => {
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await RedisServer.start();
  });

  afterAll(() => redis.stop());

  it('comes about as soon as with the store', async () => {
    const withStore = await endsAfter(() => Promise.resolve());
    const without = await endsAfter(() => redis.kill());
    expect(without - withStore).toBeLessThan(LONGER_MS);
  });

  /** Milliseconds from the signal to the exit. */
  async function endsAfter(before: () => Promise<void>): Promise<number> {
    const gateway = await startGateway({
      upstreams: [{ name: 'engine', url: 'http://127.0.0.1:9', engine: 'vllm' }],
      models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat'] }],
      server: { replicas: 2 },
      admission: { store: redis.url },
      budgets: { store: redis.url },
    });
    await eventually(async () => (await gateway.metric('budget_store_up')) === 1);
    await before();
    // Until connections are being tried, and refused.
    await delay(300);
    const begun = performance.now();
    gateway.kill('SIGTERM');
    expect(await gateway.exit()).toMatchObject({ code: 0 });
    return performance.now() - begun;
  }
});
