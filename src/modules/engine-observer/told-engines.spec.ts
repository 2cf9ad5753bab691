import { FakeClock } from '../../../test/support/fake-clock.js';
import { Line } from '../workers/line.js';
import { EngineBroadcast } from './engine-broadcast.js';
import { ENGINES, WATCH_ENGINES, type EndpointNews, type EngineNews } from './engine-news.js';
import { EngineRegistry } from './engine-registry.js';
import { ToldEngines } from './told-engines.js';
import type { ObservedUpstream } from './upstream-engines.js';

const upstream: ObservedUpstream = {
  name: 'reasoning',
  url: 'http://engine:8000',
  discover: 'single',
  engine: 'vllm',
  observe: { path: '/metrics', intervalMs: 2000, timeoutMs: 1000, staleAfter: 3, kvCeiling: 0.9, maxInflight: 4, maxParkMs: 1000 },
}; // prettier-ignore
const totals = { faults: {}, staleCount: 0 } as EngineNews['totals'];

function told() {
  const clock = new FakeClock();
  const heard: string[] = [];
  const listener = {
    onEndpoints: () => void heard.push('endpoints'),
    onSnapshot: ({ id, state }: { id: string; state: string }) => void heard.push(`${id} ${state}`),
  };
  const engines = new ToldEngines(upstream, { clock, machineOffsetMs: 1000 }, listener);
  const take = (...endpoints: EndpointNews[]): void => engines.take({ upstream: 'reasoning', endpoints, totals });
  return { clock, heard, engines, take };
}

const news = (takenAtMs?: number, state: EndpointNews['state'] = 'healthy', id = 'engine:8000'): EndpointNews => ({
  id,
  origin: `http://${id}`,
  authority: 'engine:8000',
  state,
  degraded: false,
  staleCount: 0,
  ...(takenAtMs !== undefined && { snapshot: { running: 1, bootId: 'a', takenAtMs } }),
});

describe('engines that another process polls', () => {
  it('are as they are told, on this process’s clock, and each reading is told on once', () => {
    const { engines, take, heard, clock } = told();
    expect(engines.endpoints.map(({ id, state }) => [id, state])).toEqual([['engine:8000', 'unknown']]);
    const before = engines.endpoints;
    take(news(1000));
    take(news(1000));
    expect(heard).toEqual(['engine:8000 healthy']);
    expect(engines.endpoints).toBe(before);
    expect(engines.endpoints[0]?.snapshot?.takenAtMs).toBe(0);
    clock.advance(4001);
    expect(engines.endpoints[0]?.state).toBe('late');
  });

  it('turn stale once, and are healthy again with the next reading', () => {
    const { take, heard } = told();
    take(news(1000));
    take(news(1000, 'stale'));
    take(news(1000, 'stale'));
    take(news(1500));
    expect(heard).toEqual(['engine:8000 healthy', 'engine:8000 stale', 'engine:8000 healthy']);
  });

  it('come and go by name', () => {
    const { engines, take, heard } = told();
    take(news(undefined, 'unknown', '10.0.0.1:8000'), news(undefined, 'unknown', '10.0.0.2:8000'));
    const [, second] = engines.endpoints;
    take(news(undefined, 'unknown', '10.0.0.2:8000'));
    expect(heard).toEqual(['endpoints', 'endpoints']);
    expect(engines.endpoints).toEqual([second]);
  });

  it('are told of to whoever asks, from then on', () => {
    const clock = new FakeClock();
    const page = { ok: true, reading: { gauges: { running: 2 }, bootMark: 'a' }, skipped: {}, gaps: [] } as never;
    const openClient = () => ({
      poll: () => Promise.resolve({ verdict: page, takenAtMs: 5 }),
      close: () => Promise.resolve(),
    });
    const registry = new EngineRegistry([upstream], clock, { openClient });
    const broadcast = new EngineBroadcast(registry, ['reasoning'], 1000);
    const said: EngineNews[] = [];
    const line = new Line((message) => said.push((message as { body: EngineNews }).body));
    broadcast.join(line);
    expect(said).toEqual([]);
    line.take({ llmgw: WATCH_ENGINES.name, body: null });
    expect(said.map(({ upstream: name, endpoints }) => [name, endpoints[0]?.state])).toEqual([
      ['reasoning', 'unknown'],
    ]);
    expect(ENGINES.name).toBe('engines');
  });
});
