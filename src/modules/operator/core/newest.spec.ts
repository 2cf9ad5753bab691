import { Newest } from './newest.js';

it('keeps the newest so many, newest first', () => {
  const newest = new Newest(3, () => ({ number: 0 }));
  const add = (number: number): unknown => Object.assign(newest.next(), { number });
  const kept = (): number[] => [...newest].map(({ number }) => number);
  expect(kept()).toEqual([]);
  [1, 2].forEach(add);
  expect(kept()).toEqual([2, 1]);
  [3, 4, 5].forEach(add);
  expect(kept()).toEqual([5, 4, 3]);
  expect(new Set(newest).size).toBe(3);
});
