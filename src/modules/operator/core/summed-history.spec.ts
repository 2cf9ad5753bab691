import type { Sample, SampleRow } from './sample-ring.js';
import { SummedHistory } from './summed-history.js';

const row = (index: number, ...sample: (number | null)[]): SampleRow => ({ index, upstreams: { up: sample } });
const world = (): SummedHistory<string> => new SummedHistory<string>(['up'], 2000, 10);
const newest = (history: SummedHistory<string>): Sample | undefined => history.newest?.upstreams['up'];

it('adds up what each process has of its own; of what all see the largest counts, and of how full it is the least', () => {
  const history = world();
  history.take('one', row(1, 2, 3, 0.5, 0.4, 10, 1, 200));
  history.take('two', row(1, 1, 0, 0.75, null, 5, 0, null));
  history.sample(3000);
  expect(history.newest?.index).toBe(1);
  expect(newest(history)).toEqual([3, 3, 0.5, 0.4, 15, 1, 200]);
});

it('counts what has happened once, also where it was told late, and shows a silent process as it was', () => {
  const history = world();
  history.take('one', row(1, 2, 0, 0.5, null, 10, 0, 100));
  history.take('two', row(1, 4, 0, 0.5, null, 1, 0, null));
  history.sample(3000);
  history.take('one', row(2, 1, 0, 0.2, null, 7, 0, null));
  history.sample(5000);
  expect(newest(history)).toEqual([5, 0, 0.2, null, 7, 0, null]);
  history.take('one', row(3, 1, 0, 0.2, null, 1, 0, null));
  history.take('two', row(2, 3, 0, 0.2, null, 2, 0, null));
  history.take('two', row(3, 2, 0, 0.2, null, 4, 2, 50));
  history.sample(7000);
  expect(newest(history)).toEqual([3, 0, 0.2, null, 7, 2, 50]);
});

it('keeps what a process has told when it has gone, and nothing of what it held', () => {
  const history = world();
  history.take('one', row(1, 2, 0, 0.5, null, 10, 0, null));
  history.take('two', row(1, 4, 0, 0.9, null, 3, 0, null));
  history.leave('two');
  history.sample(3000);
  expect(newest(history)).toEqual([2, 0, 0.5, null, 13, 0, null]);
  expect(history.pages().upstreams['up']).toHaveLength(1);
});

it('has nothing to show of processes that have not told anything', () => {
  const history = world();
  history.sample(3000);
  expect(newest(history)).toEqual([0, 0, null, null, 0, 0, null]);
});
