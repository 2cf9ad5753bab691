import type { Refused } from './refusals.js';
import { ToldRefusals } from './told-refusals.js';

const full = (waiting: number, retryAfterSeconds = 5): Refused => ({
  refusal: 'queue-full',
  retryAfterSeconds,
  why: { waiting, waitedMs: 0, heldBy: undefined },
});

describe('ToldRefusals', () => {
  it('gives the same problem as long as there is nothing else to tell', () => {
    const told = new ToldRefusals();
    const first = told.of(full(4), 'bronze');
    expect(told.of(full(4), 'bronze')).toBe(first);
    expect(first).toMatchObject({
      code: 'queue-full',
      options: { retryAfterSeconds: 5, recurs: true, extensions: { band: 'bronze', waiting: 4, waited_ms: 0 } },
    });
    const others = [
      told.of(full(4), 'gold'),
      told.of(full(3), 'bronze'),
      told.of(full(4, 6), 'bronze'),
      told.of({ ...full(4), refusal: 'draining' }, 'bronze'),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  });

  it('keeps no more than so many', () => {
    const told = new ToldRefusals();
    const first = told.of(full(0), 'bronze');
    for (let waiting = 1; waiting <= 1024; waiting += 1) told.of(full(waiting), 'bronze');
    expect(told.of(full(0), 'bronze')).not.toBe(first);
    expect(told.of(full(0), 'bronze')).toEqual(first);
  });
});
