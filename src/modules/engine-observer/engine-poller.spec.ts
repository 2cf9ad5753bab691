import { FakeClock } from '../../../test/support/fake-clock.js';
import { EnginePoller } from './engine-poller.js';

/** Lets promises settle; no time passes. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function world(random = (): number => 0.5) {
  const clock = new FakeClock();
  const startedAt: number[] = [];
  const running: (() => void)[] = [];
  const poll = (): Promise<void> => {
    startedAt.push(clock.now());
    return new Promise((resolve) => running.push(resolve));
  };
  const poller = new EnginePoller(poll, { intervalMs: 1000, clock, random });
  const finish = async (): Promise<void> => {
    running.shift()?.();
    await settled();
  };
  return { clock, poller, startedAt, finish };
}

describe('engine-poller', () => {
  it('polls at once, and then once in an interval', async () => {
    const { clock, poller, startedAt, finish } = world();
    poller.start();
    for (let turn = 0; turn < 3; turn += 1) {
      clock.advance(200);
      await finish();
      clock.advance(800);
    }
    expect(startedAt).toEqual([0, 1000, 2000, 3000]);
  });

  it('never polls twice at once; a slow poll delays the next', async () => {
    const { clock, poller, startedAt, finish } = world();
    poller.start();
    clock.advance(5500);
    expect(startedAt).toEqual([0]);
    await finish();
    clock.advance(0);
    expect(startedAt).toEqual([0, 5500]);
  });

  it('comes up to a tenth of the interval earlier or later', async () => {
    for (const [random, next] of [
      [0, 900],
      [1, 1100],
    ] as const) {
      const { clock, poller, startedAt, finish } = world(() => random);
      poller.start();
      await finish();
      clock.advance(next - 1);
      expect(startedAt).toHaveLength(1);
      clock.advance(1);
      expect(startedAt).toEqual([0, next]);
    }
  });

  it('stops between two polls, and in the middle of one', async () => {
    const between = world();
    between.poller.start();
    await between.finish();
    between.poller.stop();
    expect(between.clock.timers).toBe(0);

    const inOne = world();
    inOne.poller.start();
    inOne.poller.stop();
    await inOne.finish();
    expect(inOne.clock.timers).toBe(0);
  });
});
