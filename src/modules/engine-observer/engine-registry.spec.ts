import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { samplePage } from '../../../test/engines/sample-page.js';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { TcpEngine } from '../../../test/support/tcp-engine.js';
import { systemClock } from '../../common/clock.js';
import type { ObserveConfig } from '../../common/config/upstreams.config.js';
import type { PageReader, PageVerdict } from './core/page-reader.js';
import { EngineRegistry } from './engine-registry.js';
import type { Endpoint } from './endpoint.js';
import type { PollResult } from './engine-metrics-client.js';
import type { ObservedUpstream } from './upstream-engines.js';

const settled = async (): Promise<void> => {
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
};

const OBSERVE: ObserveConfig = {
  path: '/metrics',
  intervalMs: 2000,
  timeoutMs: 1000,
  staleAfter: 3,
  kvCeiling: 0.9,
  maxInflight: 4,
  maxParkMs: 120_000,
};
const REASONING: ObservedUpstream = {
  name: 'reasoning',
  url: 'http://reasoning.llm:8000',
  discover: 'single',
  engine: 'vllm',
  observe: OBSERVE,
};
const VLLM_PAGE = samplePage('vllm-v1.prom');

/** What an engine answers: a page, or a failure. */
type Answer = string | Buffer | Extract<PageVerdict, { ok: false }>;
const failure = (fault: 'connect' | 'timeout' | 'status'): Answer => ({ ok: false, fault, detail: fault, skipped: {} });

/** A registry on a clock that stands still, with engines that answer what the test says. */
function world(upstreams: readonly ObservedUpstream[] = [REASONING]) {
  const clock = new FakeClock();
  const answers: Record<string, Answer> = {};
  const addresses: { found: readonly string[] | Error } = { found: [] };
  const lines: { level: string; text: string; fields: Readonly<Record<string, unknown>> }[] = [];
  const polls: string[] = [];
  const closed: string[] = [];
  const told: string[] = [];
  const registry = new EngineRegistry(upstreams, clock, {
    random: () => 0.5,
    resolve: () =>
      addresses.found instanceof Error ? Promise.reject(addresses.found) : Promise.resolve(addresses.found),
    openClient: ({ place }) => ({
      poll: (reader) => {
        polls.push(place.id);
        return Promise.resolve(answerOf(reader, answers[place.id] ?? VLLM_PAGE, clock.now()));
      },
      close: () => {
        closed.push(place.id);
        return Promise.resolve();
      },
    }),
    log: (level, fields, text) => lines.push({ level, fields, text }),
  });
  registry.onSnapshot(({ id }) => told.push(id));
  registry.onEndpoints((upstream) => told.push(upstream));
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await settled();
  };
  const start = async (): Promise<void> => {
    await registry.start();
    await settled();
  };
  return { registry, clock, answers, addresses, lines, polls, closed, told, pass, start };
}

function answerOf(reader: PageReader, answer: Answer, takenAtMs: number): PollResult {
  if (typeof answer === 'object' && 'ok' in answer) return { verdict: answer, takenAtMs };
  reader.push(Buffer.from(answer));
  return { verdict: reader.finish({ status: 200, contentType: 'text/plain', header: () => undefined }), takenAtMs };
}

function only(registry: EngineRegistry, upstream = 'reasoning'): Endpoint {
  const [endpoint, ...more] = registry.endpoints(upstream);
  if (endpoint === undefined || more.length > 0) throw new Error('there is not one endpoint');
  return endpoint;
}

describe('engine-registry: one engine', () => {
  it('is unknown before the start, and is the URL as it is', () => {
    const { registry, polls } = world();
    expect(only(registry)).toMatchObject({
      id: 'reasoning.llm:8000',
      upstream: 'reasoning',
      origin: 'http://reasoning.llm:8000',
      authority: 'reasoning.llm:8000',
      state: 'unknown',
      snapshot: undefined,
      degraded: false,
      staleCount: 0,
    });
    expect(polls).toEqual([]);
  });

  it('is polled at once and then at its interval, and each good poll is told', async () => {
    const { registry, polls, told, start, pass } = world();
    await start();
    expect(only(registry)).toMatchObject({ state: 'healthy', snapshot: { running: 2, waiting: 3, takenAtMs: 0 } });
    await pass(2000);
    expect(only(registry).snapshot?.takenAtMs).toBe(2000);
    expect(polls).toHaveLength(2);
    expect(told).toEqual(['reasoning.llm:8000', 'reasoning.llm:8000']);
  });

  it('becomes late, then stale, then healthy; stale is counted and told once', async () => {
    const { registry, answers, lines, start, pass } = world();
    await start();
    answers['reasoning.llm:8000'] = failure('connect');
    const states: string[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      await pass(2000);
      await pass(1);
      states.push(only(registry).state);
    }
    expect(states).toEqual(['healthy', 'late', 'stale', 'stale', 'stale']);
    expect(only(registry)).toMatchObject({
      degraded: true,
      staleCount: 1,
      snapshot: { running: 2 },
      faults: { connect: 5 },
    });
    answers['reasoning.llm:8000'] = failure('timeout');
    await pass(2000);
    answers['reasoning.llm:8000'] = VLLM_PAGE;
    await pass(2000);
    expect(only(registry)).toMatchObject({ state: 'healthy', degraded: false, staleCount: 1 });
    expect(lines.map(({ level, text }) => [level, text])).toEqual([
      ['info', 'an engine is observed'],
      ['warn', 'the gauges of the engine are stale: they hold nothing back any more'],
      ['info', 'the gauges of the engine are whole again'],
    ]);
  });

  it('is told of when it turns stale, and not at every failure', async () => {
    const { registry, answers, told, start, pass } = world();
    answers['reasoning.llm:8000'] = failure('connect');
    await start();
    await pass(2000);
    expect(told).toEqual([]);
    await pass(2000);
    await pass(2000);
    expect([told, only(registry).state]).toEqual([['reasoning.llm:8000'], 'stale']);
  });

  it('says at its first page which gauges there are, and which are missing', async () => {
    const { registry, answers, lines, start } = world();
    answers['reasoning.llm:8000'] = 'vllm:num_requests_running 1\nvllm:num_requests_waiting 0\n';
    await start();
    expect(only(registry)).toMatchObject({ state: 'healthy', degraded: true });
    expect(lines[0]).toEqual({
      level: 'info',
      text: 'an engine is observed',
      fields: {
        upstream: 'reasoning',
        endpoint: 'reasoning.llm:8000',
        found: ['running', 'waiting', 'waitingCapacity', 'schedulers'],
        missing: ['kvUsage'],
      },
    });
    expect(lines[1]).toMatchObject({ level: 'warn', fields: { missing: ['kvUsage'], stale: false } });
    expect(lines).toHaveLength(2);
  });

  it('tells of a spoilt page once, and keeps the numbers it had', async () => {
    const { registry, answers, lines, start, pass } = world();
    await start();
    answers['reasoning.llm:8000'] = 'vllm:num_requests_running 9\n';
    await pass(2000);
    answers['reasoning.llm:8000'] = failure('timeout');
    await pass(2000);
    expect(only(registry)).toMatchObject({ degraded: true, snapshot: { running: 2, waiting: 3 } });
    expect(only(registry).faults).toMatchObject({ missing_family: 1, timeout: 1 });
    expect(lines.filter(({ level }) => level === 'warn')).toEqual([
      {
        level: 'warn',
        text: 'the gauges of the engine are degraded',
        fields: {
          upstream: 'reasoning',
          endpoint: 'reasoning.llm:8000',
          reason: 'missing_family',
          detail: 'the page lacks vllm:num_requests_waiting',
          stale: false,
        },
      },
    ]);
  });

  it('counts lines that were skipped on a page that was good', async () => {
    const { registry, answers, start } = world();
    answers['reasoning.llm:8000'] = samplePage('hostile-crlf.prom');
    await start();
    expect(only(registry).faults).toMatchObject({ bad_line: 1, duplicate_series: 1, not_finite: 3, missing_family: 0 });
    expect(registry.totals('reasoning').faults).toMatchObject({ bad_line: 1, duplicate_series: 1, not_finite: 3 });
  });

  it('goes on polling when a listener throws', async () => {
    const { registry, polls, lines, start, pass } = world();
    registry.onSnapshot(() => {
      throw new Error('a fault of the listener');
    });
    await start();
    await pass(2000);
    expect(polls).toHaveLength(2);
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(2);
  });

  it('stops with everything it opened', async () => {
    const { registry, clock, closed, polls, start, pass } = world();
    await start();
    await registry.stop();
    await pass(60_000);
    expect([clock.timers, closed, polls.length]).toEqual([0, ['reasoning.llm:8000'], 1]);
  });
});

describe('engine-registry: engines that are not polled', () => {
  it.each<[string, ObservedUpstream]>([
    ['without a block for it', { name: 'a', url: 'http://a:1', discover: 'single', engine: 'vllm' }],
    ['of a kind without gauges', { ...REASONING, name: 'a', engine: 'http' }],
    ['of another kind without gauges', { ...REASONING, name: 'a', engine: 'openai' }],
  ])('%s are unobserved', async (_what, upstream) => {
    const { registry, polls, start } = world([upstream]);
    await start();
    expect(only(registry, 'a')).toMatchObject({ state: 'unobserved', snapshot: undefined, degraded: false });
    expect(polls).toEqual([]);
  });

  it('knows no upstream but its own', () => {
    expect(() => world().registry.endpoints('other')).toThrow('no upstream is called other');
  });

  it('asks Ollama for life only', async () => {
    const { registry, answers, start } = world([{ ...REASONING, engine: 'ollama' }]);
    answers['reasoning.llm:8000'] = '{"models":[]}';
    await start();
    const { state, snapshot, degraded } = only(registry);
    expect([state, degraded]).toEqual(['healthy', false]);
    expect(Object.keys(snapshot ?? {}).sort()).toEqual(['bootId', 'takenAtMs']);
  });
});

describe('engine-registry: several engines behind a name', () => {
  const POOL: ObservedUpstream = { ...REASONING, discover: 'dns' };
  const idsOf = (registry: EngineRegistry): string[] => registry.endpoints('reasoning').map(({ id }) => id);

  it('are one endpoint each, dialled by address and asked for by name', async () => {
    const { registry, addresses, polls, start } = world([POOL]);
    addresses.found = ['10.0.0.2', '10.0.0.1'];
    await start();
    expect(registry.endpoints('reasoning')).toMatchObject([
      { id: '10.0.0.1:8000', origin: 'http://10.0.0.1:8000', authority: 'reasoning.llm:8000', state: 'healthy' },
      { id: '10.0.0.2:8000', origin: 'http://10.0.0.2:8000', authority: 'reasoning.llm:8000', state: 'healthy' },
    ]);
    expect(polls).toEqual(['10.0.0.1:8000', '10.0.0.2:8000']);
  });

  it('are the URL as it is until the name is found', async () => {
    const { registry, addresses, lines, polls, start, pass } = world([POOL]);
    addresses.found = new Error('ENOTFOUND');
    await start();
    expect([idsOf(registry), polls]).toEqual([['reasoning.llm:8000'], ['reasoning.llm:8000']]);
    addresses.found = ['10.0.0.1'];
    await pass(5000);
    expect(idsOf(registry)).toEqual(['10.0.0.1:8000']);
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  it('come and go while those that stay keep what they have told', async () => {
    const { registry, addresses, closed, told, start, pass } = world([POOL]);
    addresses.found = ['10.0.0.1', '10.0.0.2'];
    await start();
    const [, second] = registry.endpoints('reasoning');
    addresses.found = ['10.0.0.2', '10.0.0.3'];
    told.length = 0;
    await pass(5000);
    expect(idsOf(registry)).toEqual(['10.0.0.2:8000', '10.0.0.3:8000']);
    expect(registry.endpoints('reasoning')[0]).toBe(second);
    expect(closed).toEqual(['reasoning.llm:8000', '10.0.0.1:8000']);
    expect(told.filter((what) => what === 'reasoning')).toHaveLength(1);
    expect(registry.endpoints('reasoning')[1]?.state).toBe('healthy');
  });

  it('are remembered in the sums of the upstream when they have left', async () => {
    const { registry, addresses, answers, start, pass } = world([POOL]);
    addresses.found = ['10.0.0.1'];
    answers['10.0.0.1:8000'] = failure('connect');
    await start();
    await pass(2000);
    await pass(2000);
    addresses.found = ['10.0.0.2'];
    await pass(1000);
    expect(only(registry).staleCount).toBe(0);
    expect(registry.totals('reasoning')).toMatchObject({ staleCount: 1, faults: { connect: 3 } });
  });

  it('do not hold up the start when the name server is silent, and are found when it speaks', async () => {
    const clock = new FakeClock();
    const answer = Promise.withResolvers<readonly string[]>();
    const registry = new EngineRegistry([{ ...POOL, engine: 'http' }], clock, { resolve: () => answer.promise });
    const started = registry.start();
    clock.advance(2000);
    await started;
    expect(idsOf(registry)).toEqual(['reasoning.llm:8000']);
    answer.resolve(['10.0.0.9']);
    await settled();
    expect(idsOf(registry)).toEqual(['10.0.0.9:8000']);
    await registry.stop();
  });

  it('are not polled any more when the stop comes before they are found', async () => {
    const { registry, addresses, polls, clock } = world([POOL]);
    addresses.found = ['10.0.0.1'];
    const started = registry.start();
    await registry.stop();
    await started;
    await settled();
    expect([polls, clock.timers]).toEqual([[], 0]);
  });
});

describe('engine-registry: credentials', () => {
  it('sends what the file holds at the time of each poll, and nothing of a file that is not there', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'observer-'));
    const credentialFile = join(folder, 'key');
    const engine = await TcpEngine.start(({ socket, call }) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${VLLM_PAGE.length}\r\n\r\n`);
      socket.write(VLLM_PAGE);
      void writeFile(credentialFile, `key-${call}\n`);
    });
    const observe = { ...OBSERVE, intervalMs: 20, timeoutMs: 5000 };
    const registry = new EngineRegistry([{ ...REASONING, url: engine.url, observe, credentialFile }], systemClock);
    await registry.start();
    await engine.request(3);
    await registry.stop();
    await engine.stop();
    await rm(folder, { recursive: true });
    const sent = engine.requests.map(({ head }) => /^authorization: Bearer (.*)\r$/imu.exec(head)?.[1]);
    expect(sent[0]).toBeUndefined();
    expect(sent.slice(1).some((key) => key?.startsWith('key-'))).toBe(true);
  });
});
