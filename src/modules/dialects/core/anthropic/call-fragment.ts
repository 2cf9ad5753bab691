import { sourceOf } from '../json-splice.js';
import { isObject, isText, type JsonObject, parsedJson } from '../json-value.js';

/** A piece of a tool call, or a whole one. */
export interface CallFragment {
  /** The engine's number for the call; undefined: it gave none. */
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** A piece of JSON text. */
  readonly arguments: string;
}

/** `source` and `path`: where the call stands in JSON text, from which arguments that are no text are taken. */
export function fragmentOf(call: JsonObject, source: string, path: readonly (string | number)[]): CallFragment {
  const fn = isObject(call['function']) ? call['function'] : {};
  const given = fn['arguments'] ?? '';
  const place = [...path, 'function', 'arguments'];
  return {
    index: typeof call['index'] === 'number' ? call['index'] : undefined,
    id: isText(call['id']) ? call['id'] : undefined,
    name: isText(fn['name']) ? fn['name'] : undefined,
    arguments: typeof given === 'string' ? given : (sourceOf(source, place) ?? ''),
  };
}

export const isJsonObject = (text: string): boolean => isObject(parsedJson(text));

/** Arguments as the object that a client wants, as JSON text: nothing is `{}`, and what is no object is kept in one. */
export function inputTextOf(text: string): string {
  if (text.trim() === '' || text.trim() === 'null') return '{}';
  return isJsonObject(text) ? text : JSON.stringify({ raw_arguments: text });
}

/** An id for a call that came without one: the same for the same place in the same answer, and for no other. */
export const inventedId = (seed: string, position: number): string => `toolu_${seed}_${position}`;
