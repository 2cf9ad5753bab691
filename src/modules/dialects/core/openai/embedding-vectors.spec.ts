import fc from 'fast-check';
import { withVectors } from './embedding-vectors.js';

const list = (...vectors: string[]): Buffer =>
  Buffer.from(
    `{"object":"list","data":[${vectors.map((vector, index) => `{"object":"embedding", "index":${index},"embedding":${vector}}`).join(', ')}],"model":"é"}`,
  );

it('writes numbers as base64 of little-endian float32, and leaves all else', () => {
  expect(withVectors(list('[0.5, -0.25,2,8]', '[1,0,-1,0.125]'), 'base64').toString()).toBe(
    list('"AAAAPwAAgL4AAABAAAAAQQ=="', '"AACAPwAAAAAAAIC/AAAAPg=="').toString(),
  );
});

it('writes base64 as numbers, slashes escaped or not', () => {
  expect(withVectors(list('"AACAPwAAAAAAAIC/AAAAPg=="', '"AACAPwAAAAAAAIC\\/AAAAPg=="'), 'float').toString()).toBe(
    list('[1,0,-1,0.125]', '[1,0,-1,0.125]').toString(),
  );
});

it.each([
  ['base64', '"AAAAPw=="'],
  ['float', '[0.5]'],
  ['base64', '[[0.5],[1]]'],
  ['base64', '[null]'],
  ['float', '"not base64"'],
  ['float', '"AAA="'],
  ['float', '"AADAfw=="'],
] as const)('is the same buffer where %s is given already, or cannot be made of it: %s', (encoding, vector) => {
  const body = list(vector);
  expect(withVectors(body, encoding)).toBe(body);
});

it('is the same buffer where there are no vectors', () => {
  const body = Buffer.from('{"data":{"embedding":[1]},"embedding":[1]}');
  expect(withVectors(body, 'base64')).toBe(body);
});

it('gives every float32 back', () => {
  fc.assert(
    fc.property(fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { maxLength: 20 }), (vector) => {
      const body = list(JSON.stringify(vector.map((value) => value + 0)));
      const back = JSON.parse(withVectors(withVectors(body, 'base64'), 'float').toString()) as {
        data: { embedding: number[] }[];
      };
      expect(back.data[0]?.embedding).toEqual(JSON.parse(JSON.stringify(vector)));
    }),
  );
});
