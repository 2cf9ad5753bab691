import { match } from './patterns.js';

/** pattern, a value that matches, a value that does not. */
const TABLE: readonly (readonly [name: string, pattern: unknown, good: unknown, bad: unknown])[] = [
  ['a plain value', 'a', 'a', 'b'],
  ['null', null, null, undefined],
  ['a number, by value and type', 1, 1, '1'],
  ['an object, with more fields', { a: 1 }, { a: 1, b: 2 }, { b: 2 }],
  ['an object, not a list', {}, {}, []],
  ['a field that is only inherited', { constructor: { $absent: true } }, {}, { constructor: 1 }],
  ['a list, by length', [1, 2], [1, 2], [1, 2, 3]],
  ['a list, element by element', [{ a: 1 }, 2], [{ a: 1 }, 2], [{ a: 2 }, 2]],
  ['$absent', { a: { $absent: true } }, {}, { a: null }],
  ['$any', { a: { $any: true } }, { a: null }, {}],
  ['$type null', { $type: 'null' }, null, {}],
  ['$type array', { $type: 'array' }, [], {}],
  ['$type object', { $type: 'object' }, {}, []],
  ['$type number', { $type: 'number' }, 1, '1'],
  ['$exact', { $exact: { a: 1 } }, { a: 1 }, { a: 1, b: 2 }],
  ['$exact null', { a: { $exact: null } }, { a: null }, {}],
  ['$not', { $not: { a: 1 } }, { a: 2 }, { a: 1 }],
  ['$not of what is absent', { a: { $not: 'x' } }, {}, { a: 'x' }],
  ['$all', { $all: [{ a: 1 }, { b: 2 }] }, { a: 1, b: 2 }, { a: 1 }],
  ['$oneOf', { $oneOf: [1, 2] }, 2, 3],
  ['$oneOf with $absent', { a: { $oneOf: [{ $absent: true }, ''] } }, {}, { a: null }],
  ['$regex', { $regex: '^a+$' }, 'aa', 'ab'],
  ['$includes', { $includes: 'mid' }, 'amidst', ['mid']],
  ['$json', { $json: { a: 1 } }, '{"a":1,"b":2}', '{"a":2}'],
  ['$json of what is no JSON', { $json: { $any: true } }, '1', '{'],
  ['$length of a list', { $length: 2 }, [1, 2], [1]],
  ['$length of a string', { $length: 2 }, 'ab', 'abc'],
  ['$gte and $lte together', { $gte: 1, $lte: 3 }, 3, 4],
  ['$gte of no number', { $gte: 1 }, 1, '5'],
  ['$contains', { $contains: [{ a: 1 }, 2] }, [2, 3, { a: 1 }], [2, 3]],
  ['$excludes', { $excludes: [{ a: 1 }, 9] }, [2, 3], [2, { a: 1 }]],
  ['$excludes of no list', { $excludes: [1] }, [], {}],
  ['$ordered', { $ordered: [1, 3] }, [0, 1, 2, 3], [3, 1]],
  ['$ordered, one element for one pattern', { $ordered: [1, 1] }, [1, 2, 1], [1, 2]],
  ['$head', { $head: 1 }, [1, 2], [2, 1]],
  ['$last', { $last: 1 }, [2, 1], [1, 2]],
  ['$tail', { $tail: [2, 3] }, [1, 2, 3], [2, 3]],
  ['$somewhere', { $somewhere: { a: 1 } }, { x: [{ a: 1 }] }, { x: [{ a: 2 }] }],
  ['$somewhere in itself', { $somewhere: { a: 1 } }, { a: 1 }, {}],
  ['$nowhere', { $nowhere: { a: 1 } }, { x: [{ a: 2 }] }, { x: [{ a: 1 }] }],
  ['$nowhere next to a field', { a: 1, $nowhere: 'x' }, { a: 1 }, { a: 1, b: ['x'] }],
  ['$text of a string', { $text: 'ab' }, 'ab', 'abc'],
  [
    '$text of parts',
    { $text: 'ab' },
    [{ type: 'text', text: 'a' }, { type: 'image' }, { type: 'text', text: 'b' }],
    [{ type: 'other', text: 'ab' }],
  ],
  ['$textIncludes, in order', { $textIncludes: ['a', 'b'] }, 'xaxb', 'ba'],
  [
    '$textIncludes of parts',
    { $textIncludes: ['ab'] },
    [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ],
    [],
  ],
];

describe('match', () => {
  it.each(TABLE)('%s', (_, pattern, good, bad) => {
    expect(match(pattern, good)).toBeUndefined();
    expect(match(pattern, bad)).toEqual(expect.any(String));
  });

  it('names the place of the first mismatch', () => {
    expect(match({ a: [{ b: 1 }] }, { a: [{ b: 2 }] })).toBe('$.a[0].b: wanted 1, got 2');
  });

  it.each<[pattern: unknown, value: unknown]>([
    [{ $unknown: 1 }, 1],
    [{ $constructor: 1 }, 1],
    [{ $contains: 1 }, []],
    [{ $not: { $includes: 5 } }, 'x'],
  ])('refuses the malformed pattern %j instead of passing or failing the value', (pattern, value) => {
    expect(() => match(pattern, value)).toThrow(/operator/);
  });
});
