import { Newest } from './newest.js';

it('keeps the newest so many, newest first', () => {
  const newest = new Newest<number>(3);
  expect([...newest]).toEqual([]);
  newest.add(1);
  newest.add(2);
  expect([...newest]).toEqual([2, 1]);
  newest.add(3);
  newest.add(4);
  newest.add(5);
  expect([...newest]).toEqual([5, 4, 3]);
});
