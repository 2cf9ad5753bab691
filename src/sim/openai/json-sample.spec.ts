import { Prng } from '../core/prng.js';
import { sampleFromSchema } from './json-sample.js';

const sample = (schema: unknown): unknown => sampleFromSchema(schema, new Prng(1));

describe('sampleFromSchema', () => {
  it.each([
    [{ type: 'string' }, expect.any(String)],
    [{ type: ['integer', 'null'], minimum: 100 }, 100],
    [{ const: 7 }, 7],
    [{ enum: ['a', 'b'] }, 'a'],
    [{ anyOf: [{ type: 'null' }, { type: 'string' }] }, null],
    [{ type: 'array', minItems: 2, items: { type: 'boolean' } }, [true, true]],
    [{ properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'number' } } }, { a: expect.any(Number) }],
    ['no schema', expect.any(String)],
  ])('fits %j', (schema, value) => {
    expect(sample(schema)).toEqual(value);
  });

  it('gives the same for the same seed', () => {
    const schema = { properties: { a: { type: 'string' }, b: { type: 'integer' } } };
    expect(sample(schema)).toEqual(sample(schema));
  });

  it('comes to an end with schemas that contain themselves, or want more than anyone needs', () => {
    const self = { $ref: '#' };
    const wide = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`p${at}`, self]));
    expect(JSON.stringify(sample({ type: 'object', properties: wide })).length).toBeLessThan(50_000);
    expect(sample({ $ref: '#' })).toBeNull();
    expect(sample({ type: 'array', minItems: 1e9 })).toHaveLength(16);
  });
});
