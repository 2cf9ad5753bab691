import { LabelTree } from './label-tree.js';

it('keeps one value for each combination, in the order of their first use', () => {
  const tree = new LabelTree<{ count: number }>();
  const count = (...labels: string[]): number => (tree.get(labels, () => ({ count: 0 })).count += 1);
  expect([count('a', 'b'), count('b', 'a'), count('a'), count('a', 'b'), count()]).toEqual([1, 1, 1, 2, 1]);
  expect(tree.all()).toEqual([
    { labels: ['a', 'b'], value: { count: 2 } },
    { labels: ['b', 'a'], value: { count: 1 } },
    { labels: ['a'], value: { count: 1 } },
    { labels: [], value: { count: 1 } },
  ]);
});

it('does not take two combinations for one that read the same when they are joined', () => {
  const tree = new LabelTree<object>();
  const made = [
    ['a\nb', 'c'],
    ['a', 'b\nc'],
    ['', 'a\nb\nc'],
  ].map((labels) => tree.get(labels, () => ({})));
  expect(new Set(made).size).toBe(3);
});

it('forgets all of them, and no list that a caller changes later', () => {
  const tree = new LabelTree<number>();
  const labels = ['a'];
  tree.get(labels, () => 1);
  labels[0] = 'b';
  expect(tree.all()).toEqual([{ labels: ['a'], value: 1 }]);
  tree.clear();
  expect(tree.all()).toEqual([]);
  expect(tree.get(['a'], () => 2)).toBe(2);
});
