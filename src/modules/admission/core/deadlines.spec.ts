import fc from 'fast-check';
import { Deadlines, type Dated } from './deadlines.js';

class Item implements Dated {
  waits = true;
  constructor(readonly deadline: number) {}
}

describe('Deadlines', () => {
  it('names everyone whose deadline has come, nobody before and nobody who has left', () => {
    const steps = fc.array(
      fc.record({ passesMs: fc.nat(900), within: fc.nat(3000), leaves: fc.option(fc.nat(100), { nil: undefined }) }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(steps, (sequence) => {
        const deadlines = new Deadlines<Item>();
        let waiting: Item[] = [];
        let now = 0.5;
        const leave = (item: Item): void => {
          item.waits = false;
          deadlines.left(item);
          waiting = waiting.filter((one) => one !== item);
        };
        for (const { passesMs, within, leaves } of sequence) {
          const item = new Item(now + within);
          deadlines.add(item);
          waiting.push(item);
          const leaver = leaves === undefined ? undefined : waiting[leaves % waiting.length];
          if (leaver !== undefined) leave(leaver);
          now += passesMs;
          const due = deadlines.due(now);
          expect(new Set(due)).toEqual(new Set(waiting.filter(({ deadline }) => deadline <= now)));
          for (const one of due) leave(one);
          expect(deadlines.size).toBe(waiting.length);
        }
      }),
    );
  });

  it('finds one that comes back with a deadline that has passed', () => {
    const deadlines = new Deadlines<Item>();
    deadlines.add(new Item(60_000));
    expect(deadlines.due(50_000)).toEqual([]);
    const late = new Item(1_000);
    deadlines.add(late);
    expect(deadlines.due(50_000)).toEqual([late]);
  });
});
