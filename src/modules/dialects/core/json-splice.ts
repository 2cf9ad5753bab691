import { parsedJson } from './json-value.js';

/**
 * Edits of JSON text in place: what is not edited keeps its bytes, number formats and unknown members included. Every
 * function wants text that `JSON.parse` takes; on anything else the result is undefined, but no call loops or throws.
 */

/** Names of members and positions of elements, from the outermost value inwards. */
export type JsonPath = readonly (string | number)[];

/** A span of source text; `keyStart` is where its member or element begins. */
interface Span {
  readonly keyStart: number;
  readonly start: number;
  readonly end: number;
}

/** Where a value stands in the text, undefined where there is none. */
export function spanOf(json: string, path: JsonPath): { readonly start: number; readonly end: number } | undefined {
  return locate(json, path);
}

/** The source text of a value, undefined where there is none. */
export function sourceOf(json: string, path: JsonPath): string | undefined {
  const span = locate(json, path);
  return span && json.slice(span.start, span.end);
}

/** Puts `value` (JSON text) at `path`, in place of what is there or as a first member of the object that lacks it. */
export function withMember(json: string, path: JsonPath, value: string): string {
  const span = locate(json, path);
  if (span !== undefined) return json.slice(0, span.start) + value + json.slice(span.end);
  const parent = locate(json, path.slice(0, -1));
  const name = path.at(-1);
  if (parent === undefined || typeof name !== 'string' || json[parent.start] !== '{') return json;
  const inside = skipSpace(json, parent.start + 1);
  const comma = json[inside] === '}' ? '' : ',';
  return `${json.slice(0, parent.start + 1)}${JSON.stringify(name)}:${value}${comma}${json.slice(parent.start + 1)}`;
}

/** Takes a member out, with the comma that it needed. */
export function withoutMember(json: string, path: JsonPath): string {
  const span = locate(json, path);
  if (span === undefined || path.length === 0) return json;
  const next = skipSpace(json, span.end);
  if (json[next] === ',') return json.slice(0, span.keyStart) + json.slice(skipSpace(json, next + 1));
  const before = json.lastIndexOf(',', span.keyStart);
  const isFirst = before === -1 || json.slice(before + 1, span.keyStart).trim() !== '';
  return json.slice(0, isFirst ? span.keyStart : before) + json.slice(next);
}

/** Where the elements of an array of the text are, as start and end, in order. */
export function elementSpans(
  json: string,
  path: JsonPath,
): readonly { readonly start: number; readonly end: number }[] {
  const span = locate(json, path);
  return span === undefined || json[span.start] !== '[' ? [] : [...children(json, span.start)];
}

/** The value that begins at `at` ends before this position. */
export function endOfValue(json: string, at: number): number {
  if (json[at] === '"') return endOfString(json, at);
  if (json[at] === '{' || json[at] === '[') return endOfNest(json, at);
  let end = at;
  while (end < json.length && !isEndOfScalar(json.charCodeAt(end))) end += 1;
  return end;
}

function locate(json: string, path: JsonPath): Span | undefined {
  const start = skipSpace(json, 0);
  let span: Span | undefined = { keyStart: start, start, end: endOfValue(json, start) };
  for (const step of path) {
    span = childAt(json, span.start, step);
    if (span === undefined) return undefined;
  }
  return span;
}

/** The last of several members with one name, as `JSON.parse` has it. */
function childAt(json: string, open: number, step: string | number): Span | undefined {
  if (json[open] !== (typeof step === 'number' ? '[' : '{')) return undefined;
  let position = 0;
  let found: Span | undefined;
  for (const child of children(json, open)) {
    if (typeof step === 'number' ? position === step : keyOf(json, child) === step) found = child;
    position += 1;
  }
  return found;
}

function keyOf(json: string, child: Span): string {
  const source = json.slice(child.keyStart, endOfString(json, child.keyStart));
  return source.includes('\\') ? String(parsedJson(source)) : source.slice(1, -1);
}

function* children(json: string, open: number): Generator<Span> {
  const isObject = json[open] === '{';
  let at = skipSpace(json, open + 1);
  while (at < json.length && json[at] !== '}' && json[at] !== ']') {
    const keyStart = at;
    if (isObject) at = skipSpace(json, skipSpace(json, endOfString(json, at)) + 1);
    const end = endOfValue(json, at);
    yield { keyStart, start: at, end };
    at = skipSpace(json, end);
    if (json[at] !== ',') return;
    at = skipSpace(json, at + 1);
  }
}

function endOfString(json: string, at: number): number {
  let quote = json.indexOf('"', at + 1);
  while (quote !== -1) {
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    quote = json.indexOf('"', quote + 1);
  }
  return json.length;
}

function endOfNest(json: string, at: number): number {
  let depth = 0;
  for (let next = at; next < json.length; next += 1) {
    const code = json.charCodeAt(next);
    if (code === 0x22) next = endOfString(json, next) - 1;
    else if (code === 0x7b || code === 0x5b) depth += 1;
    else if (code === 0x7d || code === 0x5d) depth -= 1;
    if (depth === 0) return next + 1;
  }
  return json.length;
}

const isEndOfScalar = (code: number): boolean => code === 0x2c || code === 0x5d || code === 0x7d || code <= 0x20;

function skipSpace(json: string, at: number): number {
  let next = at;
  while (next < json.length && json.charCodeAt(next) <= 0x20) next += 1;
  return next;
}
