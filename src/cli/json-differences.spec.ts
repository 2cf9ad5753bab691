import { differencesOf, jsonIn, shownValue } from './json-differences.js';

const paths = (left: unknown, right: unknown, ignores?: (name: string) => boolean): string[] =>
  differencesOf(left, right, ignores).map(({ path }) => path);

it('names every place, however deep, and what is there', () => {
  const left = { a: 1, b: [1, { c: 'x' }], d: null, same: [{}] };
  const right = { b: [1, { c: 'y' }, 3], d: 0, e: true, same: [{}] };
  expect(differencesOf(left, right)).toEqual([
    { path: 'a', left: 1, right: undefined },
    { path: 'b[1].c', left: 'x', right: 'y' },
    { path: 'b[2]', left: undefined, right: 3 },
    { path: 'd', left: null, right: 0 },
    { path: 'e', left: undefined, right: true },
  ]);
});

it('passes over what is ignored, at any depth', () => {
  expect(paths({ id: 1, a: [{ id: 2, b: 1 }] }, { id: 3, a: [{ b: 2 }] }, (name) => name === 'id')).toEqual(['a[0].b']);
});

it.each([
  [[], {}],
  ['1', 1],
  [null, undefined],
  [{ a: 1 }, [1]],
])('tells %j from %j', (left, right) => {
  expect(paths(left, right)).toEqual(['']);
});

it('finds no member that is only inherited', () => {
  expect(paths({ constructor: 1 }, {})).toEqual(['constructor']);
});

it('shows a value on one line, cut short', () => {
  expect([shownValue(undefined), shownValue({ a: 'b' })]).toEqual(['nothing', '{"a":"b"}']);
  expect(shownValue('x'.repeat(200))).toMatch(/^"x{98}…$/);
  expect([jsonIn('{"a":1}'), jsonIn('{')]).toEqual([{ a: 1 }, undefined]);
});
