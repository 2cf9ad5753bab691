import { readingOf } from './reading-of.js';

const told = { running: 1, bootId: 'a', takenAtMs: 5 };

it('counts nothing that an engine has put off for another reason than room', () => {
  expect(readingOf({ ...told, waiting: 3, waitingCapacity: 1 })).toMatchObject({
    running: 1,
    waiting: 1,
    takenAtMs: 5,
  });
});

it('counts all that waits where the engine makes no difference', () => {
  expect(readingOf({ ...told, waiting: 3 }).waiting).toBe(3);
});
