import { FakeClock } from '../../../test/support/fake-clock.js';
import { Line } from './line.js';
import { Supervisor, type Departure, type WorkerProcess } from './supervisor.js';
import { END, FAILED, LEAVING, READY } from './topics.js';

interface Forked {
  readonly worker: WorkerProcess;
  readonly said: string[];
  readonly gone: (departure: Departure) => void;
  killed: boolean;
}

const KILLED = { code: 1, how: 'signal SIGKILL' };

function world(workers: number) {
  const clock = new FakeClock();
  const forked: Forked[] = [];
  const logged: string[] = [];
  const around: string[] = [];
  const log = (_: object, text: string): void => void logged.push(text);
  const fork = (index: number, gone: (departure: Departure) => void): WorkerProcess => {
    const said: string[] = [];
    const line = new Line((message) => said.push((message as { llmgw: string }).llmgw));
    const worker = { index, pid: 100 + forked.length, line, kill: () => (entry.killed = true) };
    const entry: Forked = { worker, said, gone, killed: false };
    forked.push(entry);
    return worker;
  };
  const supervisor = new Supervisor({
    workers,
    clock,
    log: { info: log, warn: log, error: log },
    fork,
    joined: ({ pid }) => void around.push(`+${pid}`),
    left: ({ pid }) => void around.push(`-${pid}`),
    endMs: 5000,
    endAtOnceMs: 500,
  });
  const started = supervisor.start().catch((error: unknown) => error as Error);
  const hear = <Body>(at: number, { name }: { name: string; body?: Body }, body: Body): void =>
    forked[at]?.worker.line.take({ llmgw: name, body });
  const ready = (at: number): void => hear(at, READY, { listen: '127.0.0.1:80' });
  return { clock, forked, logged, around, supervisor, started, hear, ready };
}

describe('the supervisor', () => {
  it('has started when every worker listens', async () => {
    const { forked, started, ready, around } = world(2);
    expect(forked.map(({ worker }) => worker.index)).toEqual([1, 2]);
    ready(1);
    ready(0);
    expect(await started).toBe('127.0.0.1:80');
    expect(around).toEqual(['+100', '+101']);
  });

  it('gives up the start where a worker cannot, with what it says, when none is left', async () => {
    const { forked, started, hear } = world(2);
    hear(0, FAILED, { message: 'the port is taken' });
    await Promise.resolve();
    forked[0]?.gone({ code: 1, how: 'exit code 1' });
    await new Promise(setImmediate);
    expect(forked[1]?.said).toEqual(['end', 'end']);
    forked[1]?.gone({ code: 0, how: 'exit code 0' });
    expect(await started).toEqual(new Error('the port is taken'));
    expect(forked).toHaveLength(2);
  });

  it('fills the seat of one that dies, at once after a long life and later after short ones, and gives up at the fifth', async () => {
    const { clock, forked, ready, supervisor, logged, around } = world(1);
    ready(0);
    clock.advance(20_000);
    forked[0]?.gone(KILLED);
    clock.advance(0);
    expect(forked).toHaveLength(2);
    expect(around).toEqual(['+100', '-100', '+101']);
    for (const delayMs of [100, 200, 400, 800]) {
      const before = forked.length;
      forked.at(-1)?.gone(KILLED);
      clock.advance(delayMs - 1);
      expect(forked).toHaveLength(before);
      clock.advance(1);
      expect(forked).toHaveLength(before + 1);
    }
    forked.at(-1)?.gone(KILLED);
    expect(await supervisor.ended).toBe(1);
    expect(logged.filter((text) => text.includes('giving up'))).toHaveLength(1);
  });

  it('fills the seat of one that leaves by itself while that one still drains, and once', () => {
    const { clock, forked, ready, hear } = world(2);
    ready(0);
    ready(1);
    clock.advance(60_000);
    hear(0, LEAVING, { reason: 'uncaught exception' });
    clock.advance(0);
    expect(forked.map(({ worker }) => worker.index)).toEqual([1, 2, 1]);
    forked[0]?.gone({ code: 1, how: 'exit code 1' });
    clock.advance(10_000);
    expect(forked).toHaveLength(3);
  });

  it('has all drain, exits with the worst of their codes, and starts nobody meanwhile', async () => {
    const { clock, forked, ready, supervisor } = world(2);
    ready(0);
    ready(1);
    supervisor.end('SIGTERM');
    expect(forked.map(({ said }) => said)).toEqual([[END.name], [END.name]]);
    forked[0]?.gone({ code: 0, how: 'exit code 0' });
    forked[1]?.gone(KILLED);
    clock.advance(60_000);
    expect(forked).toHaveLength(2);
    expect(await supervisor.ended).toBe(1);
  });

  it('kills what does not end: after its time, and soon when told twice', () => {
    const { clock, forked, ready, supervisor } = world(1);
    ready(0);
    supervisor.end('SIGTERM');
    clock.advance(4999);
    expect(forked[0]?.killed).toBe(false);
    clock.advance(1);
    expect(forked[0]?.killed).toBe(true);
    const second = world(1);
    second.ready(0);
    second.supervisor.end('SIGTERM');
    second.supervisor.end('SIGTERM');
    second.clock.advance(500);
    expect(second.forked[0]?.killed).toBe(true);
  });
});
