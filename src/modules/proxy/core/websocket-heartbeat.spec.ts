import type { Clock } from '../../../common/clock.js';
import { Heartbeat, type HeartbeatRule, type Listened } from './websocket-heartbeat.js';

/** Fires whatever waits, one beat at a time. */
class BeatClock implements Clock {
  readonly waiting = new Set<() => void>();

  now(): number {
    return 0;
  }

  after(_delayMs: number, callback: () => void) {
    this.waiting.add(callback);
    return { cancel: () => void this.waiting.delete(callback) };
  }

  beat(): void {
    const due = [...this.waiting];
    this.waiting.clear();
    for (const callback of due) callback();
  }
}

class ScriptedSide implements Listened {
  receivedBytes = 0;
  excused = false;
  pings = 0;

  ping(): void {
    this.pings += 1;
  }
}

function heartbeatWorld(rule: Omit<HeartbeatRule, 'everyMs'>) {
  const clock = new BeatClock();
  const side = new ScriptedSide();
  let given = 0;
  const heartbeat = new Heartbeat(clock, { everyMs: 1000, ...rule }, side, () => (given += 1));
  heartbeat.start();
  return { clock, side, heartbeat, givenUp: () => given };
}

describe('Heartbeat', () => {
  it('pings at every beat and gives up at the last missed answer', () => {
    const { clock, side, givenUp } = heartbeatWorld({ askAfter: 0, missed: 2 });
    clock.beat();
    clock.beat();
    expect([side.pings, givenUp()]).toEqual([2, 0]);
    clock.beat();
    expect([side.pings, givenUp(), clock.waiting.size]).toEqual([2, 1, 0]);
  });

  it('takes any byte for an answer', () => {
    const { clock, side, givenUp } = heartbeatWorld({ askAfter: 0, missed: 1 });
    for (let i = 0; i < 10; i++) {
      side.receivedBytes += 1;
      clock.beat();
    }
    expect([side.pings, givenUp()]).toEqual([10, 0]);
  });

  it('asks only where there was silence, if told so', () => {
    const { clock, side, givenUp } = heartbeatWorld({ askAfter: 2, missed: 2 });
    clock.beat();
    expect(side.pings).toBe(0);
    clock.beat();
    expect(side.pings).toBe(1);
    clock.beat();
    expect(givenUp()).toBe(0);
    clock.beat();
    expect(givenUp()).toBe(1);
  });

  it('starts over after a sign of life', () => {
    const { clock, side, givenUp } = heartbeatWorld({ askAfter: 2, missed: 2 });
    for (let i = 0; i < 3; i++) clock.beat();
    side.receivedBytes += 1;
    for (let i = 0; i < 4; i++) clock.beat();
    expect(givenUp()).toBe(0);
    clock.beat();
    expect(givenUp()).toBe(1);
  });

  it('neither asks nor blames a side that the gateway itself holds', () => {
    const { clock, side, givenUp } = heartbeatWorld({ askAfter: 0, missed: 1 });
    clock.beat();
    side.excused = true;
    for (let i = 0; i < 5; i++) clock.beat();
    expect([side.pings, givenUp()]).toEqual([1, 0]);
    side.excused = false;
    clock.beat();
    clock.beat();
    expect(givenUp()).toBe(1);
  });

  it('leaves nothing behind when it is stopped', () => {
    const { clock, heartbeat } = heartbeatWorld({ askAfter: 0, missed: 1 });
    clock.beat();
    heartbeat.stop();
    expect(clock.waiting.size).toBe(0);
  });
});
