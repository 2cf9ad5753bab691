import { isObject } from '../json-differences.js';

/**
 * What a value is, without what it says: `string`, `number`, the shapes of an object's members. The elements of a list are
 * laid over each other, so that its length does not count. What models say differs from call to call; this does not.
 */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return { '[]': value.map(shapeOf).reduce<unknown>(overlaid, NOTHING) };
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one)]));
  return value === null ? 'null' : typeof value;
}

const NOTHING = 'nothing';

/** Both shapes in one: what is only in some elements counts as there. */
export function overlaid(left: unknown, right: unknown): unknown {
  if (left === NOTHING) return right;
  if (right === NOTHING) return left;
  if (isObject(left) && isObject(right)) return Object.fromEntries(sortedUnion(left, right));
  const words = [left, right].flatMap((shape) =>
    typeof shape === 'string' ? shape.split(' or ') : [JSON.stringify(shape)],
  );
  return [...new Set(words)].sort().join(' or ');
}

const sortedUnion = (left: object, right: object): [string, unknown][] =>
  [...new Set([...Object.keys(left), ...Object.keys(right)])]
    .sort()
    .map((name) => [name, overlaid(own(left, name), own(right, name))]);

const own = (object: object, name: string): unknown =>
  Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : NOTHING;
