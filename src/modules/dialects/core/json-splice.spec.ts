import fc from 'fast-check';
import { elementSpans, sourceOf, withMember, withoutMember } from './json-splice.js';

const TEXT = '{ "a" : 1.50 , "b":[ {"c":"}\\"]"}, 2 ], "d\\u0041":null}';

it('finds the source of a value', () => {
  expect(sourceOf(TEXT, ['a'])).toBe('1.50');
  expect(sourceOf(TEXT, ['b', 0, 'c'])).toBe('"}\\"]"');
  expect(sourceOf(TEXT, ['b', 1])).toBe('2');
  expect(sourceOf(TEXT, ['dA'])).toBe('null');
  expect(sourceOf(TEXT, ['b', 'c'])).toBeUndefined();
  expect(sourceOf(TEXT, ['x'])).toBeUndefined();
});

it('replaces a value, or puts a first member in', () => {
  expect(withMember(TEXT, ['b', 0, 'c'], '7')).toBe(TEXT.replace('"}\\"]"', '7'));
  expect(withMember(TEXT, ['b', 0, 'x'], '7')).toBe(TEXT.replace('{"c"', '{"x":7,"c"'));
  expect(withMember('{ }', ['x'], '7')).toBe('{"x":7 }');
  expect(withMember('[]', ['x'], '7')).toBe('[]');
});

it.each([
  ['{"a":1,"b":2}', 'a', '{"b":2}'],
  ['{"a":1 , "b":2}', 'b', '{"a":1 }'],
  ['{ "a":1 }', 'a', '{ }'],
  ['{"a":1}', 'x', '{"a":1}'],
])('takes a member out of %s', (json, name, expected) => {
  expect(withoutMember(json, [name])).toBe(expected);
});

it('takes the last of two members with one name, as JSON.parse does', () => {
  expect(sourceOf('{"a":1,"a":2}', ['a'])).toBe('2');
});

it('lists the elements of an array', () => {
  const json = '{"x":[1, [2,3],{"y":4}]}';
  expect(elementSpans(json, ['x']).map(({ start, end }) => json.slice(start, end))).toEqual(['1', '[2,3]', '{"y":4}']);
  expect(elementSpans(json, ['y'])).toEqual([]);
});

it('edits any object as a tree would', () => {
  const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1, maxKeys: 5 });
  fc.assert(
    fc.property(value, fc.nat(), fc.constantFrom(0, 1, 3), (object, pick, indent) => {
      const json = JSON.stringify(object, null, indent);
      const tree = JSON.parse(json) as Record<string, unknown>;
      const key = Object.keys(tree)[pick % Object.keys(tree).length] ?? '';
      const { [key]: taken, ...rest } = tree;
      expect(JSON.parse(sourceOf(json, [key]) ?? '')).toEqual(taken);
      expect(JSON.parse(withoutMember(json, [key]))).toEqual(rest);
      expect(JSON.parse(withMember(json, [key], '[1]'))).toEqual({ ...tree, [key]: [1] });
    }),
  );
});

it('comes to an end on text that is no JSON', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', '1', ' ') }), (noise) => {
      expect(typeof withMember(noise, ['a', 0], '1')).toBe('string');
      expect(typeof withoutMember(noise, ['a'])).toBe('string');
    }),
  );
});
