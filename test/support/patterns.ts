import { isDeepStrictEqual } from 'node:util';
import { isList, isObject, member, objectOr, parseJson, shown, type JsonObject } from './json.js';

/**
 * Holds the value against a pattern of the conformance cases: undefined where it matches, else the first mismatch with
 * its place. A value that is undefined is one that is not there. A malformed pattern throws: the case is at fault then.
 */
export function match(pattern: unknown, value: unknown, at = '$'): string | undefined {
  if (isList(pattern)) return matchList(pattern, value, at);
  if (isObject(pattern)) return matchObject(pattern, value, at);
  return Object.is(pattern, value) ? undefined : `${at}: wanted ${shown(pattern)}, got ${shown(value)}`;
}

function matchList(pattern: readonly unknown[], value: unknown, at: string): string | undefined {
  if (!isList(value)) return `${at}: wanted a list, got ${shown(value)}`;
  if (value.length !== pattern.length) {
    return `${at}: wanted ${String(pattern.length)} elements, got ${String(value.length)}: ${shown(value)}`;
  }
  return first(pattern, (element, index) => match(element, value[index], `${at}[${String(index)}]`));
}

function matchObject(pattern: JsonObject, value: unknown, at: string): string | undefined {
  const names = Object.keys(pattern);
  const plain = names.filter((name) => !name.startsWith('$'));
  const onlyOperators = names.length > 0 && plain.length === 0;
  if (!onlyOperators && !isObject(value)) return `${at}: wanted an object, got ${shown(value)}`;
  return first(names, (name) =>
    name.startsWith('$')
      ? operator(name)(pattern[name], value, at)
      : match(pattern[name], member(objectOr(value), name), `${at}.${name}`),
  );
}

/** undefined where the value passes, else why not. */
type Operator = (argument: unknown, value: unknown, at: string) => string | undefined;

function operator(name: string): Operator {
  const found = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (found === undefined) throw new Error(`unknown operator ${name}`);
  return found;
}

const OPERATORS: Readonly<Record<string, Operator>> = {
  $absent: (_, value, at) => unless(value === undefined, at, 'to be absent', value),
  $any: (_, value, at) => unless(value !== undefined, at, 'any value', value),
  $type: (type, value, at) => unless(typeOf(value) === type, at, `a value of type ${shown(type)}`, value),
  $exact: (exact, value, at) => unless(isDeepStrictEqual(value, exact), at, `exactly ${shown(exact)}`, value),
  $not: (inner, value, at) => unless(match(inner, value) !== undefined, at, `not ${shown(inner)}`, value),
  $all: (inner, value, at) => first(patternsIn(inner), (each) => match(each, value, at)),
  $oneOf(inner, value, at) {
    const faults = patternsIn(inner).map((each) => match(each, value, at));
    return faults.includes(undefined) ? undefined : `${at}: none of: ${faults.join(' | ')}`;
  },
  $regex: (source, value, at) =>
    unless(isText(value) && new RegExp(textIn(source)).test(value), at, `text like /${textIn(source)}/`, value),
  $includes: (piece, value, at) =>
    unless(isText(value) && value.includes(textIn(piece)), at, `text with ${shown(piece)}`, value),
  $json(inner, value, at) {
    const parsed = isText(value) ? parseJson(value) : undefined;
    return parsed === undefined ? unless(false, at, 'a string of JSON', value) : match(inner, parsed, `${at}(json)`);
  },
  $length: (length, value, at) =>
    unless((isList(value) || isText(value)) && value.length === length, at, `a length of ${shown(length)}`, value),
  $gte: (least, value, at) => unless(isNumber(value) && value >= numberIn(least), at, `>= ${shown(least)}`, value),
  $lte: (most, value, at) => unless(isNumber(value) && value <= numberIn(most), at, `<= ${shown(most)}`, value),
  $contains: (inner, value, at) =>
    ofList(value, at, (list) =>
      first(patternsIn(inner), (each) => unless(list.some(matches(each)), at, `an element ${shown(each)}`, list)),
    ),
  $excludes: (inner, value, at) =>
    ofList(value, at, (list) =>
      first(patternsIn(inner), (each) => unless(!list.some(matches(each)), at, `no element ${shown(each)}`, list)),
    ),
  $ordered: (inner, value, at) => ofList(value, at, (list) => matchInOrder(patternsIn(inner), list, at)),
  $head: (inner, value, at) => ofList(value, at, (list) => match(inner, list[0], `${at}[0]`)),
  $last: (inner, value, at) => ofList(value, at, (list) => match(inner, list.at(-1), `${at}[last]`)),
  $tail: (inner, value, at) => ofList(value, at, (list) => match(inner, list.slice(1), `${at}[1…]`)),
  $somewhere: (inner, value, at) =>
    unless(nested(value).some(matches(inner)), at, `somewhere inside ${shown(inner)}`, value),
  $nowhere(inner, value, at) {
    const found = nested(value).find(matches(inner));
    return found === undefined ? undefined : `${at}: wanted nowhere ${shown(inner)}, found ${shown(found)}`;
  },
  $text: (text, value, at) => unless(textOf(value) === text, at, `the text ${shown(text)}`, textOf(value) ?? value),
  $textIncludes(pieces, value, at) {
    const text = textOf(value);
    if (text === undefined) return unless(false, at, 'text', value);
    let from = 0;
    return first(patternsIn(pieces).map(textIn), (piece) => {
      const found = text.indexOf(piece, from);
      from = found + piece.length;
      return unless(found >= 0, at, `text with ${shown(piece)}, in this order`, text);
    });
  },
};

/** Finds an element for each pattern, in their order and with gaps allowed. */
export function matchInOrder(patterns: readonly unknown[], list: readonly unknown[], at: string): string | undefined {
  let from = 0;
  return first(patterns, (pattern, index) => {
    const found = list.findIndex((element, position) => position >= from && matches(pattern)(element));
    if (found < 0) {
      return `${at}: no element from ${String(from)} on matches pattern ${String(index)} ${shown(pattern)}; ${String(list.length)} in all`;
    }
    from = found + 1;
    return undefined;
  });
}

function first<T>(items: readonly T[], check: (item: T, index: number) => string | undefined): string | undefined {
  for (const [index, item] of items.entries()) {
    const fault = check(item, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const matches =
  (pattern: unknown) =>
  (value: unknown): boolean =>
    match(pattern, value) === undefined;

const unless = (holds: boolean, at: string, wanted: string, value: unknown): string | undefined =>
  holds ? undefined : `${at}: wanted ${wanted}, got ${shown(value)}`;

const ofList = (value: unknown, at: string, check: (list: readonly unknown[]) => string | undefined) =>
  isList(value) ? check(value) : `${at}: wanted a list, got ${shown(value)}`;

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return isList(value) ? 'array' : typeof value;
}

/** The value and all that is nested in it; nothing where it is not there. */
function nested(value: unknown): unknown[] {
  if (value === undefined) return [];
  const children = isList(value) ? value : Object.values(objectOr(value));
  return [value, ...children.flatMap(nested)];
}

const TEXT_PARTS = ['text', 'input_text', 'output_text'];

/** The string itself, or the text parts of a list put together; undefined where it is neither. */
function textOf(value: unknown): string | undefined {
  if (isText(value)) return value;
  if (!isList(value)) return undefined;
  const parts = value.filter((part): part is JsonObject => isObject(part) && TEXT_PARTS.includes(String(part['type'])));
  return parts.map((part) => (isText(part['text']) ? part['text'] : '')).join('');
}

function patternsIn(argument: unknown): readonly unknown[] {
  if (!isList(argument)) throw new Error(`the operator wants a list, not ${shown(argument)}`);
  return argument;
}

function textIn(argument: unknown): string {
  if (!isText(argument)) throw new Error(`the operator wants a string, not ${shown(argument)}`);
  return argument;
}

function numberIn(argument: unknown): number {
  if (!isNumber(argument)) throw new Error(`the operator wants a number, not ${shown(argument)}`);
  return argument;
}
