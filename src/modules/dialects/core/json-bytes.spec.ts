import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { JsonBytes, MAX_DEPTH } from './json-bytes.js';

const accepts = (text: string): boolean => {
  const json = new JsonBytes(Buffer.from(text));
  try {
    return json.endOfValue(0, 0) === json.bytes.length;
  } catch (error) {
    if (error instanceof GatewayProblem && error.code === 'invalid-body') return false;
    throw error;
  }
};
const detailOf = (text: string): string => {
  try {
    new JsonBytes(Buffer.from(text)).endOfValue(0, 0);
  } catch (error) {
    if (error instanceof GatewayProblem) return error.message;
  }
  return 'accepted';
};

const ACCEPTED: readonly string[] = [
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '10',
    '1.0',
    '0.5',
    '1e5',
    '1E5',
    '1e+5',
    '1e-5',
    '1.5E-07',
    '-0e0',
    '123456789012345678901234567890',
  ],
  ...['1e400', '-1e-400', `1${'0'.repeat(300)}`, `0.${'3'.repeat(300)}`],
  ...['true', 'false', 'null'],
  ...[
    '""',
    '"a"',
    '" "',
    '"\\""',
    '"\\\\"',
    '"\\/"',
    '"\\b\\f\\n\\r\\t"',
    '"\\u0000"',
    '"\\u00e9"',
    '"\\uABCD"',
    '"\\uabcd"',
  ],
  ...[
    '"\\ud83d\\ude00"',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\u007f"',
    '"\u0080"',
    '"é"',
    '"潮"',
    '"😀"',
    '"\u2028\u2029"',
    '"\\\\u0041"',
  ],
  ...['[]', '[ ]', '[1]', '[1,2]', '[ 1 , 2 ]', '[[],[[]]]', '[\n1\r\n,\t2 ]', '[null,true,false,"",{}]'],
  ...['{}', '{ }', '{"":0}', '{"a":1}', '{"a":1,"a":2}', '{ "a" : { "b" : [ ] } , "c" : "" }', '{"a\\u0062":{}}'],
];

const REFUSED: readonly string[] = [
  ...[
    '',
    ' ',
    '+1',
    '01',
    '-01',
    '00',
    '-',
    '1.',
    '.5',
    '-.5',
    '1.e5',
    '1e',
    '1e+',
    '1e1.5',
    '0x1',
    '1_0',
    '1 0',
    '--1',
    '1e-',
    '- 1',
  ],
  ...['NaN', 'Infinity', '-Infinity', 'undefined', 'True', 'nul', 'nulll', 'tru', 'falsey', 'TRUE'],
  ...[
    "'a'",
    '"',
    '"a',
    '"\\',
    '"\\"',
    '"\\x"',
    '"\\a"',
    '"\\0"',
    '"\\u"',
    '"\\u12"',
    '"\\u123"',
    '"\\u123g"',
    '"\\U0041"',
    '"\\\n"',
  ],
  ...[
    '"\n"',
    '"\t"',
    '"\u0000"',
    '"\u001f"',
    '"a\u0001bcdefghijklmnopqrst"',
    '"abcdefghijklmnopqrstu\u001fvwxyz"',
    '"\\ud800\\u"',
  ],
  ...[
    '[',
    ']',
    '[1',
    '[1,',
    '[1,]',
    '[,1]',
    '[,]',
    '[1 2]',
    '[1,,2]',
    '[1]]',
    '[1}',
    '["a"',
    '["a":1]',
    '[[]',
    '[1;2]',
    '[a]',
  ],
  ...[
    '{',
    '}',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    '{,"a":1}',
    '{"a":1,,"b":2}',
    '{"a" 1}',
    '{"a":1 "b":2}',
    '{"a":1]',
  ],
  ...[
    '{a:1}',
    "{'a':1}",
    '{1:1}',
    '{null:1}',
    '{"a"::1}',
    '{"a":1}}',
    '{"a":1} {}',
    '{"a"}',
    '{:1}',
    '{"a",1}',
    '{[]:1}',
  ],
  ...[
    '/**/1',
    '1//',
    '{"a":1}//x',
    '{/*x*/"a":1}',
    '# 1',
    '\u00a01',
    '\u000b1',
    '\u000c1',
    '\ufeff1',
    '1\u0000',
    '\u00001',
    '[1\u00a0]',
  ],
];

describe('JsonBytes', () => {
  it.each(ACCEPTED)('accepts %j, as JSON.parse does', (text) => {
    expect(JSON.parse(text)).not.toBeUndefined();
    expect(accepts(text)).toBe(true);
    expect(accepts(`{"member":${text}}`)).toBe(true);
    expect(accepts(`[0,${text}]`)).toBe(true);
  });

  it.each(REFUSED)('refuses %j, as JSON.parse does', (text) => {
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(accepts(text)).toBe(false);
    expect(accepts(`{"member":${text}}`)).toBe(false);
    expect(accepts(`["",${text}]`)).toBe(false);
  });

  it('finds the odd byte at every place of a string and at every offset of the memory', () => {
    for (let offset = 0; offset < 8; offset++) {
      for (let place = 0; place < 40; place++) {
        for (const [odd, accepted] of [
          ['\\n', true],
          ['\u001f', false],
          ['"', false],
          ['\u007f', true],
        ] as const) {
          const text = `"${'~'.repeat(place)}${odd}${'!'.repeat(40 - place)}"`;
          const memory = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]);
          const json = new JsonBytes(memory.subarray(offset));
          const run = (): boolean => json.endOfValue(0, 0) === json.bytes.length;
          if (odd === '\u001f') expect(run).toThrow(GatewayProblem);
          else expect(run()).toBe(accepted);
        }
      }
    }
  });

  it('nests as deep as allowed and no deeper, objects and arrays alike', () => {
    const nested = (depth: number): string => '[{"a":'.repeat(depth / 2) + '0' + '}]'.repeat(depth / 2);
    expect(accepts(nested(MAX_DEPTH))).toBe(true);
    expect(accepts(nested(MAX_DEPTH + 2))).toBe(false);
    expect(accepts('['.repeat(MAX_DEPTH) + ']'.repeat(MAX_DEPTH))).toBe(true);
    expect(accepts('['.repeat(MAX_DEPTH + 1) + ']'.repeat(MAX_DEPTH + 1))).toBe(false);
  });

  it('stops at the depth limit, however many brackets follow', () => {
    expect(detailOf('['.repeat(1_000_000))).toBe('The body nests deeper than 512 levels at byte 512.');
  });

  it.each([
    ['{"a":1,}', 'The body is not valid JSON: at byte 7 a name in double quotes was expected.'],
    ['{"a" 1}', 'The body is not valid JSON: at byte 5 a colon was expected.'],
    ['{"a":[1 2]}', 'The body is not valid JSON: at byte 8 a comma or "]" was expected.'],
    ['{"a":{"b":1]}', 'The body is not valid JSON: at byte 11 a comma or "}" was expected.'],
    [
      '{"a":"x',
      'The body is not valid JSON: at its end, byte 7, the rest of a string, with control characters escaped, was expected.',
    ],
    ['{"a":"\\q"}', 'The body is not valid JSON: at byte 7 a valid escape was expected.'],
    ['{"a":-x}', 'The body is not valid JSON: at byte 6 a digit was expected.'],
    ['{"a":nuLl}', 'The body is not valid JSON: at byte 7 the rest of null was expected.'],
    ['{"a":secret}', 'The body is not valid JSON: at byte 5 a value was expected.'],
  ])('says of %j what was expected and where, and quotes nothing', (text, detail) => {
    expect(detailOf(text)).toBe(detail);
  });

  it('compares strings by what they say, not by how they are written', () => {
    const json = new JsonBytes(Buffer.from('"mo\\u0064el"'));
    expect(json.says(0, json.bytes.length, 'model')).toBe(true);
    expect(json.says(0, json.bytes.length, 'modem')).toBe(false);
    expect(new JsonBytes(Buffer.from('"models"')).says(0, 8, 'model')).toBe(false);
  });
});
