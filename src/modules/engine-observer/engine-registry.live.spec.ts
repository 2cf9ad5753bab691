import { systemClock } from '../../common/clock.js';
import type { EngineKind } from '../../common/config/upstreams.config.js';
import { FAST } from '../../sim/core/profiles.js';
import { startOllama } from '../../sim/ollama.js';
import { startTei } from '../../sim/tei.js';
import { startVllm, type VllmOptions, type VllmServer } from '../../sim/vllm.js';
import type { SimServer } from '../../sim/wire/sim-app.js';
import { EngineRegistry } from './engine-registry.js';
import type { Endpoint } from './endpoint.js';

const registries: EngineRegistry[] = [];
const servers: SimServer[] = [];
afterEach(async () => {
  await Promise.all(registries.splice(0).map((registry) => registry.stop()));
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

function keep<Server extends SimServer>(server: Server): Server {
  servers.push(server);
  return server;
}

/** An observed engine, and a way to wait for what it will say. */
async function observe(url: string, engine: EngineKind, path = '/metrics') {
  const policy = {
    path,
    intervalMs: 20,
    timeoutMs: 5000,
    staleAfter: 3,
    kvCeiling: 0.9,
    maxInflight: 4,
    maxParkMs: 1000,
  };
  const upstream = {
    name: 'engine',
    url,
    discover: 'single',
    engine,
    observe: policy,
    servedNames: ['reasoning'],
  } as const;
  const registry = new EngineRegistry([upstream], systemClock);
  registries.push(registry);
  await registry.start();
  const [endpoint] = registry.endpoints('engine');
  if (endpoint === undefined) throw new Error('there is no endpoint');
  const until = async (holds: (now: Endpoint) => boolean): Promise<Endpoint> => {
    while (!holds(endpoint)) await new Promise((resolve) => setTimeout(resolve, 5));
    return endpoint;
  };
  return { endpoint, until };
}

const vllm = async (options: Partial<VllmOptions> = {}): Promise<VllmServer> =>
  keep(await startVllm({ models: ['reasoning'], profile: FAST, ...options }));

/** A request that runs until the engine is closed. */
function occupy(server: VllmServer): void {
  const body = JSON.stringify({
    model: 'reasoning',
    max_tokens: 4000,
    stream: true,
    messages: [{ role: 'user', content: 'x' }],
  });
  fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body }).then(
    (response) => response.text().catch(() => undefined),
    () => undefined,
  );
}

describe('engine-registry on simulated engines', () => {
  it.each([
    ['v1', false],
    ['v1', true],
    ['v0', false],
  ] as const)(
    'sees what runs and what waits on vLLM (names of %s, a series for each process: %s)',
    async (metricNames, pidSeries) => {
      const server = await vllm({ metricNames, pidSeries, profile: { ...FAST, slots: 2 } });
      const { until } = await observe(server.url, 'vllm');
      for (let requests = 0; requests < 5; requests += 1) occupy(server);
      const { state, degraded, snapshot } = await until(
        (now) => now.snapshot?.running === 2 && now.snapshot.waiting === 3,
      );
      expect([state, degraded]).toEqual(['healthy', false]);
      expect(snapshot).toMatchObject({
        waitingCapacity: 3,
        kvCapacityTokens: FAST.blocks * FAST.blockTokens,
        slots: 2,
      });
      expect(snapshot?.kvUsage).toBeGreaterThan(0);
    },
  );

  it('adds up the schedulers behind one address', async () => {
    const server = await vllm({ engines: 2 });
    const { until } = await observe(server.url, 'vllm');
    for (let requests = 0; requests < 4; requests += 1) occupy(server);
    const { snapshot } = await until((now) => now.snapshot?.running === 4);
    expect(snapshot?.schedulers).toBe(2);
  });

  it('sees a crash as another start', async () => {
    const server = await vllm();
    const { until } = await observe(server.url, 'vllm');
    const first = (await until((now) => now.snapshot !== undefined)).snapshot?.bootId;
    server.crash();
    const second = (await until((now) => now.snapshot?.bootId !== first)).snapshot?.bootId;
    expect([first, second].every((id) => id !== undefined)).toBe(true);
  });

  it('turns stale when nobody listens, and healthy when somebody does again', async () => {
    const server = await vllm();
    const { until } = await observe(server.url, 'vllm');
    await until(({ state }) => state === 'healthy');
    await server.refuse();
    const gone = await until(({ state }) => state === 'stale');
    expect([gone.staleCount, gone.degraded]).toEqual([1, true]);
    await server.accept();
    const back = await until(({ state }) => state === 'healthy');
    expect([back.staleCount, back.degraded]).toEqual([1, false]);
  });

  it.each([
    ['status', { status: 500 }],
    ['bad_content', { body: 'html' }],
    ['missing_family', { body: 'hostile' }],
  ] as const)('counts %s, and never takes a wrong number from it', async (fault, metrics) => {
    const server = await vllm();
    server.setFaults({ metrics });
    const { until } = await observe(server.url, 'vllm');
    const { snapshot, degraded } = await until(({ faults }) => faults[fault] > 0);
    expect([snapshot, degraded]).toEqual([undefined, true]);
  });

  it('reads TEI and Ollama', async () => {
    const tei = keep(await startTei({ model: 'bge', kind: 'reranker' }));
    const { until } = await observe(tei.url, 'tei');
    expect((await until(({ state }) => state === 'healthy')).snapshot).toMatchObject({ waiting: 0 });

    const ollama = keep(await startOllama({ models: ['chat:27b'] }));
    const alive = await observe(ollama.url, 'ollama', '/api/ps');
    expect((await alive.until(({ state }) => state === 'healthy')).snapshot?.running).toBeUndefined();
  });
});
