import fc from 'fast-check';
import { Line, type Waiting } from './line.js';

class Item implements Waiting {
  waits = true;
  constructor(readonly name: number) {}
}

const acts = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('push' as const) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('unshift' as const) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('leave' as const), at: fc.nat(500) }) },
  ),
  { maxLength: 400 },
);

describe('Line', () => {
  it('holds what a plain list would hold, in the same order, whoever leaves', () => {
    fc.assert(
      fc.property(acts, (sequence) => {
        const line = new Line<Item>();
        const model: Item[] = [];
        for (const [name, act] of sequence.entries()) {
          const item = new Item(name);
          if (act.kind === 'push') {
            line.push(item);
            model.push(item);
          } else if (act.kind === 'unshift') {
            line.unshift(item);
            model.unshift(item);
          } else {
            const [gone] = model.splice(act.at % Math.max(1, model.length), 1);
            if (gone === undefined) continue;
            gone.waits = false;
            line.left();
          }
          expect(line.head).toBe(model[0]);
          expect(line.size).toBe(model.length);
        }
        expect([...line.values()]).toEqual(model);
      }),
    );
  });
});
