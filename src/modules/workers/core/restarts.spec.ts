import { Restarts } from './restarts.js';

describe('restarts', () => {
  it('come at once after a long life, later and later after short ones, and end at the fifth', () => {
    const restarts = new Restarts();
    expect(restarts.delayAfter(10_000)).toBe(0);
    expect([1, 2, 3, 4, 5].map(() => restarts.delayAfter(9_999))).toEqual([100, 200, 400, 800, undefined]);
  });

  it('count anew after a long life', () => {
    const restarts = new Restarts();
    for (let times = 0; times < 4; times += 1) restarts.delayAfter(5);
    expect(restarts.delayAfter(60_000)).toBe(0);
    expect(restarts.delayAfter(5)).toBe(100);
  });
});
