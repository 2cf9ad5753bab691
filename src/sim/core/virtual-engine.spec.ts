import { SLOTS, VOLTA } from './profiles.js';
import { VirtualClock } from './virtual-clock.js';
import { VirtualEngine, type SequenceSink } from './virtual-engine.js';

/** Notes what it hears, with the time in ms. */
function recorder(clock: VirtualClock): SequenceSink & { readonly heard: [string, number][] } {
  const heard: [string, number][] = [];
  const note = (what: string): void => void heard.push([what, Math.round(clock.now())]);
  return { heard, first: () => note('first'), tokens: (count) => note(`tokens ${count}`), ended: note };
}

describe('VirtualEngine', () => {
  it('lets a step take its time, and owns no timer when it is done', () => {
    const clock = new VirtualClock();
    const engine = new VirtualEngine(VOLTA, clock);
    const sink = recorder(clock);
    engine.submit({ id: 'a', promptTokens: 500, outputTokens: 2 }, sink);
    expect(engine.gauges()).toMatchObject({ running: 1, waiting: 0 });
    expect(Math.round(engine.stepLeftMs())).toBe(870);
    clock.runAll();
    expect(sink.heard).toEqual([
      ['first', 870],
      ['tokens 1', 870],
      ['tokens 1', 917],
      ['finished', 917],
    ]);
    expect(clock.timers).toBe(0);
    expect(engine.stepLeftMs()).toBe(0);
  });

  it('runs faster than life by its time scale', () => {
    const clock = new VirtualClock();
    const engine = new VirtualEngine(SLOTS, clock, 50);
    const sink = recorder(clock);
    engine.submit({ id: 'a', promptTokens: 500, outputTokens: 1 }, sink);
    clock.runAll();
    expect(sink.heard.at(-1)).toEqual(['finished', 40]);
  });

  it('tells an aborted request so at the next boundary', () => {
    const clock = new VirtualClock();
    const engine = new VirtualEngine(VOLTA, clock);
    const [left, right] = [recorder(clock), recorder(clock)];
    engine.submit({ id: 'a', promptTokens: 500, outputTokens: 50 }, left);
    clock.advance(900);
    engine.submit({ id: 'b', promptTokens: 500, outputTokens: 1 }, right);
    engine.abort('a');
    clock.runAll();
    expect(left.heard).toEqual([
      ['first', 870],
      ['tokens 1', 870],
      ['tokens 1', 917],
      ['aborted', 917],
    ]);
    expect(right.heard.at(-1)).toEqual(['finished', 1_786]);
  });

  it('drops everything in a crash', () => {
    const clock = new VirtualClock();
    const engine = new VirtualEngine(VOLTA, clock);
    const sink = recorder(clock);
    engine.submit({ id: 'a', promptTokens: 500, outputTokens: 50 }, sink);
    engine.crash();
    expect(sink.heard).toEqual([['lost', 0]]);
    expect(clock.timers).toBe(0);
  });

  it('starts again by itself for who answers the end of a request with the next one', () => {
    const clock = new VirtualClock();
    const engine = new VirtualEngine(SLOTS, clock);
    const ends: number[] = [];
    const send = (left: number): void =>
      engine.submit(
        { id: `r${left}`, promptTokens: 1, outputTokens: 1 },
        {
          tokens: () => undefined,
          ended: () => {
            ends.push(clock.now());
            if (left > 1) send(left - 1);
          },
        },
      );
    send(3);
    clock.runAll();
    expect(ends.map((ms) => Math.round(ms / 1_000))).toEqual([2, 4, 6]);
  });
});
