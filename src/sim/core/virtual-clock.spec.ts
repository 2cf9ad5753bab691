import { Prng } from './prng.js';
import { VirtualClock } from './virtual-clock.js';

describe('VirtualClock', () => {
  it('calls in the order of time, and in the order of creation where times are equal', () => {
    const clock = new VirtualClock();
    const heard: string[] = [];
    for (const [name, delayMs] of [
      ['c', 30],
      ['a', 10],
      ['d', 30],
      ['b', 10],
    ] as const) {
      clock.after(delayMs, () => heard.push(`${name}@${clock.now()}`));
    }
    clock.advance(30);
    expect(heard).toEqual(['a@10', 'b@10', 'c@30', 'd@30']);
  });

  it('lets no more time pass than it is told to', () => {
    const clock = new VirtualClock();
    let called = 0;
    clock.after(11, () => (called += 1));
    clock.advance(10);
    expect([called, clock.now(), clock.timers]).toEqual([0, 10, 1]);
    clock.advance(1);
    expect([called, clock.now(), clock.timers]).toEqual([1, 11, 0]);
  });

  it('forgets a cancelled call, however often and whenever it is cancelled', () => {
    const clock = new VirtualClock();
    const heard: string[] = [];
    const first = clock.after(1, () => heard.push('first'));
    const second = clock.after(2, () => heard.push('second'));
    second.cancel();
    second.cancel();
    clock.advance(5);
    first.cancel();
    expect(heard).toEqual(['first']);
    expect(clock.timers).toBe(0);
  });

  it('refuses to run calls that never end', () => {
    const clock = new VirtualClock();
    const again = (): void => void clock.after(1, again);
    again();
    expect(() => clock.runAll(100)).toThrow('still pending');
  });

  it('keeps its order through any mixture of new and cancelled calls', () => {
    const random = new Prng(7);
    const clock = new VirtualClock();
    const expected: { readonly due: number; readonly order: number }[] = [];
    const heard: number[] = [];
    for (let order = 0; order < 2_000; order += 1) {
      const due = random.between(0, 500);
      const timer = clock.after(due, () => heard.push(order));
      if (random.next() < 0.3) timer.cancel();
      else expected.push({ due, order });
    }
    clock.runAll();
    expect(heard).toEqual(expected.sort((a, b) => a.due - b.due || a.order - b.order).map(({ order }) => order));
  });
});
