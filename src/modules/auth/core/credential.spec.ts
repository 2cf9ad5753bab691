import { tokenIn } from './credential.js';
import { Refusal } from './refusal.js';

const refusal = (fields: Record<string, string | string[]>, bare?: string): [number, string] => {
  try {
    tokenIn(fields, bare);
  } catch (error) {
    if (error instanceof Refusal) return [error.status, error.reason];
    throw error;
  }
  return [200, 'served'];
};

describe('tokenIn', () => {
  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR'])('T11: takes the scheme as %s', (scheme) => {
    expect(tokenIn({ authorization: `${scheme} a.b.c` }, undefined)).toBe('a.b.c');
    expect(tokenIn({ authorization: `${scheme}   a.b.c` }, undefined)).toBe('a.b.c');
  });

  it.each([
    ['another scheme', { authorization: 'Basic a.b.c' }, 'malformed'],
    ['no scheme', { authorization: 'a.b.c' }, 'malformed'],
    ['a scheme alone', { authorization: 'Bearer' }, 'malformed'],
    ['a scheme and space', { authorization: `Bearer ${' '.repeat(8000)}` }, 'malformed'],
    ['a token that is too long', { authorization: `Bearer ${'a'.repeat(8193)}` }, 'malformed'],
    ['a tab behind the scheme', { authorization: 'Bearer\ta.b.c' }, 'malformed'],
  ] as const)('T9: has no token in %s', (_name, fields, reason) => {
    expect(refusal(fields)).toEqual([401, reason]);
  });

  it.each([
    ['nothing', {}],
    ['another field', { 'x-api-key': 'a.b.c' }],
  ])('finds none in %s', (_name, fields) => expect(tokenIn(fields, undefined)).toBeUndefined());

  it('takes the other field where the route has one', () => {
    expect(tokenIn({ 'x-api-key': 'a.b.c' }, 'x-api-key')).toBe('a.b.c');
    expect(tokenIn({ authorization: 'Bearer a.b.c' }, 'x-api-key')).toBe('a.b.c');
    expect(tokenIn({ authorization: 'Bearer a.b.c', 'x-api-key': 'a.b.c' }, 'x-api-key')).toBe('a.b.c');
  });

  it('T9: two that differ are refused, whichever of them is good', () => {
    expect(refusal({ authorization: 'Bearer a.b.c', 'x-api-key': 'a.b.d' }, 'x-api-key')).toEqual([400, 'malformed']);
    expect(refusal({ authorization: 'Basic a.b.c', 'x-api-key': 'a.b.c' }, 'x-api-key')).toEqual([400, 'malformed']);
  });

  it.each([[''], ['a'.repeat(8193)], [['a.b.c', 'a.b.d']]])('T12: the other field may not hold %j', (value) => {
    expect(refusal({ 'x-api-key': value }, 'x-api-key')).toEqual([401, 'malformed']);
  });
});
