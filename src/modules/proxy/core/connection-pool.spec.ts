import { FakeClock } from '../../../../test/support/fake-clock.js';
import { ConnectionPool, type Connection } from './connection-pool.js';

const LIMITS = { connections: 3, lifeMs: 30_000 };

/** A connection that does what the test says, and nothing else. */
class Line implements Connection<string> {
  busy = false;
  openedAtMs = NaN;
  readonly jobs: string[] = [];
  left = false;
  broken: Error | undefined;

  constructor(readonly pool: ConnectionPool<string, Line>) {}

  carry(job: string): void {
    this.jobs.push(job);
    if (Number.isNaN(this.openedAtMs)) this.pool.opened(this);
  }

  letGo(): void {
    this.left = true;
    this.pool.shut(this);
  }

  breakOff(reason: Error): Promise<void> {
    this.broken = reason;
    this.pool.shut(this);
    this.pool.freed(this);
    return Promise.resolve();
  }
}

let clock: FakeClock;
let lines: Line[];
let pool: ConnectionPool<string, Line>;

function start(limits = LIMITS): void {
  clock = new FakeClock();
  lines = [];
  pool = new ConnectionPool(limits, clock, () => {
    const line = new Line(pool);
    lines.push(line);
    return line;
  });
}

beforeEach(() => start());

function line(at: number): Line {
  const found = lines[at];
  if (found === undefined) throw new Error(`there is no connection ${at}`);
  return found;
}

const jobs = (): string[][] => lines.map((one) => one.jobs);
const carry = (...names: string[]): void => names.forEach((name) => pool.carry(name));

it('opens a connection only where none is free, and takes the one that was used last', () => {
  carry('a', 'b', 'c');
  for (const at of [2, 0, 1]) pool.freed(line(at));
  carry('d');
  pool.freed(line(1));
  carry('e', 'f', 'g');
  expect(jobs()).toEqual([
    ['a', 'f'],
    ['b', 'd', 'e'],
    ['c', 'g'],
  ]);
});

it('opens no more than it may, and serves those that wait in turn', () => {
  carry('a', 'b', 'c', 'd', 'e', 'f');
  expect(jobs()).toEqual([['a'], ['b'], ['c']]);
  for (const at of [1, 1, 0]) pool.freed(line(at));
  expect(jobs()).toEqual([['a', 'f'], ['b', 'd', 'e'], ['c']]);
});

it('does not take what is said twice for two free connections', () => {
  carry('a');
  pool.freed(line(0));
  pool.freed(line(0));
  carry('b', 'c');
  expect(jobs()).toEqual([['a', 'b'], ['c']]);
});

it('uses no connection for longer than its life, and counts from when its socket was opened', () => {
  carry('a');
  clock.advance(20_000);
  pool.shut(line(0));
  pool.opened(line(0));
  pool.freed(line(0));
  clock.advance(LIMITS.lifeMs);
  carry('b');
  expect(jobs()).toEqual([['a', 'b']]);
  clock.advance(1);
  expect(line(0).left).toBe(false);
  pool.freed(line(0));
  carry('c');
  expect(line(0).left).toBe(true);
  expect(jobs()).toEqual([['a', 'b'], ['c']]);
});

it('looks at the age for those that wait, too', () => {
  start({ ...LIMITS, connections: 1 });
  carry('a', 'b');
  clock.advance(LIMITS.lifeMs + 1);
  pool.freed(line(0));
  expect(line(0).left).toBe(true);
  expect(jobs()).toEqual([['a'], ['b']]);
});

it('lets go of all that are too old when one is needed', () => {
  carry('a', 'b', 'c');
  lines.forEach((one) => pool.freed(one));
  clock.advance(LIMITS.lifeMs + 1);
  carry('d');
  expect(lines.map(({ left }) => left)).toEqual([true, true, true, false]);
});

it('keeps a connection that lost its socket only while a job is on it', () => {
  carry('a', 'b');
  pool.freed(line(0));
  pool.shut(line(0));
  pool.shut(line(1));
  carry('c', 'd', 'e');
  expect(jobs()).toEqual([['a'], ['b'], ['c'], ['d']]);
  pool.freed(line(1));
  expect(jobs()).toEqual([['a'], ['b'], ['c'], ['d'], ['e']]);
});

it('is unused when the last socket is closed and the last job done', () => {
  expect(pool.unused).toBe(true);
  carry('a', 'b');
  pool.freed(line(0));
  pool.shut(line(1));
  expect(pool.unused).toBe(false);
  pool.shut(line(0));
  expect(pool.unused).toBe(false);
  pool.freed(line(1));
  expect(pool.unused).toBe(true);
});

it('breaks all off at its end, and fails who waits', async () => {
  carry('a', 'b', 'c', 'd', 'e');
  pool.freed(line(0));
  const failed: string[] = [];
  const reason = new Error('the end');
  await pool.end(reason, (job) => failed.push(job));
  expect(failed).toEqual(['e']);
  expect(lines.map(({ broken }) => broken)).toEqual([reason, reason, reason]);
  expect(pool.unused).toBe(true);
});

it('carries each of 10,000 jobs once, in turn, whatever becomes of the connections', () => {
  let seed = 9;
  const below = (n: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % n;
  };
  const done: string[] = [];
  let next = 0;
  let most = 0;
  const steps: ((of: Line) => void)[] = [
    () => pool.carry(String(next++)),
    (of) => pool.freed(of),
    (of) => pool.freed(of),
    (of) => pool.shut(of),
    (of) => of.busy && pool.opened(of),
    () => clock.advance(below(5000)),
  ];
  const live = (): Line[] => lines.filter((one) => one.busy || !Number.isNaN(one.openedAtMs));
  while (next < 10_000) {
    const all = live();
    const some = all[below(Math.max(1, all.length))];
    if (some === undefined) pool.carry(String(next++));
    else steps[below(steps.length)]?.(some);
    lines = live();
    most = Math.max(most, lines.length);
    for (const one of lines) done.push(...one.jobs.splice(0));
  }
  for (let busy = live(); busy.some((one) => one.busy); busy = live()) {
    busy.forEach((one) => pool.freed(one));
    for (const one of lines) done.push(...one.jobs.splice(0));
  }
  expect(most).toBe(LIMITS.connections);
  expect(done.sort((a, b) => Number(a) - Number(b))).toEqual(Array.from({ length: next }, (_, at) => String(at)));
  lines.forEach((one) => pool.shut(one));
  expect(pool.unused).toBe(true);
});
