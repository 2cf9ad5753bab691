import { listFrom, objectFrom, stringFrom, type JsonObject } from '../wire/json.js';
import type { Prng } from '../core/prng.js';
import { wordTokens } from '../core/text.js';

/** Deeper than this, and behind so many values, the answer is null: a schema that contains itself would never end. */
const MAX_DEPTH = 12;
const MAX_VALUES = 500;
const MAX_ITEMS = 16;

/** A value that fits a JSON schema, as far as the schema uses the usual words. */
export function sampleFromSchema(schema: unknown, prng: Prng): unknown {
  const root = objectFrom(schema) ?? {};
  return sample(root, { root, prng, depth: 0, spent: { values: 0 } });
}

interface Scope {
  readonly root: JsonObject;
  readonly prng: Prng;
  readonly depth: number;
  /** Of the whole answer. */
  readonly spent: { values: number };
}

function sample(schema: JsonObject, scope: Scope): unknown {
  scope.spent.values += 1;
  if (scope.depth > MAX_DEPTH || scope.spent.values > MAX_VALUES) return null;
  const inner = { ...scope, depth: scope.depth + 1 };
  if ('const' in schema) return schema['const'];
  const choices = listFrom(schema['enum']);
  if (choices !== undefined && choices.length > 0) return choices[0];
  const reference = stringFrom(schema['$ref']);
  if (reference !== undefined) return sample(resolve(reference, scope.root), inner);
  const [first] = listFrom(schema['anyOf']) ?? listFrom(schema['oneOf']) ?? listFrom(schema['allOf']) ?? [];
  if (first !== undefined) return sample(objectFrom(first) ?? {}, inner);
  return sampleOfType(typeOf(schema), schema, inner);
}

function typeOf(schema: JsonObject): string {
  const type = listFrom(schema['type'])?.[0] ?? schema['type'];
  return stringFrom(type) ?? (objectFrom(schema['properties']) === undefined ? 'string' : 'object');
}

function sampleOfType(type: string, schema: JsonObject, scope: Scope): unknown {
  switch (type) {
    case 'object':
      return sampleObject(schema, scope);
    case 'array':
      return sampleArray(schema, scope);
    case 'integer':
    case 'number':
      return Math.max(lowest(schema, 'minimum'), scope.prng.between(1, 9));
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return wordTokens(scope.prng, 2).join('').replace('.', '');
  }
}

function sampleArray(schema: JsonObject, scope: Scope): unknown {
  const length = Math.min(Math.max(1, lowest(schema, 'minItems')), MAX_ITEMS);
  return Array.from({ length }, () => sample(objectFrom(schema['items']) ?? {}, scope));
}

function sampleObject(schema: JsonObject, scope: Scope): unknown {
  const properties = Object.entries(objectFrom(schema['properties']) ?? {});
  return Object.fromEntries(properties.map(([name, property]) => [name, sample(objectFrom(property) ?? {}, scope)]));
}

const lowest = (schema: JsonObject, key: string): number => (typeof schema[key] === 'number' ? schema[key] : 0);

function resolve(reference: string, root: JsonObject): JsonObject {
  const steps = reference.startsWith('#/') ? reference.slice(2).split('/') : [];
  return steps.reduce<JsonObject>((at, step) => objectFrom(at[step]) ?? {}, root);
}
