import { elementSpans, type JsonPath, sourceOf } from './json-splice.js';
import { isObject, isText, type JsonObject, parsedJson } from './json-value.js';

/** A piece of a tool call, or a whole one. */
export interface CallFragment {
  /** The engine's number for the call; undefined: it gave none. */
  readonly index: number | undefined;
  readonly id: string | undefined;
  readonly name: string | undefined;
  /** A piece of JSON text. */
  readonly arguments: string;
  /** It comes from an answer that was not streamed: one call, and all of it. */
  readonly whole: boolean;
}

/** `source` and `path`: where the list stands in JSON text, from which arguments that are no text are taken. */
export function fragmentsOf(
  calls: readonly unknown[],
  source: string,
  path: JsonPath,
  { whole }: Pick<CallFragment, 'whole'>,
): CallFragment[] {
  let spans: ReturnType<typeof elementSpans> | undefined;
  const sourceAt = (at: number): string => {
    spans ??= elementSpans(source, path);
    const span = spans[at];
    return span === undefined ? '' : source.slice(span.start, span.end);
  };
  return calls.flatMap((call, at) => (isObject(call) ? [{ ...fragmentOf(call, () => sourceAt(at)), whole }] : []));
}

/** `source`: the JSON text of the call. */
export function fragmentOf(call: JsonObject, source: () => string): CallFragment {
  const fn = isObject(call['function']) ? call['function'] : {};
  const given = fn['arguments'] ?? '';
  return {
    index: typeof call['index'] === 'number' ? call['index'] : undefined,
    id: isText(call['id']) ? call['id'] : undefined,
    name: isText(fn['name']) ? fn['name'] : undefined,
    arguments: typeof given === 'string' ? given : (sourceOf(source(), ['function', 'arguments']) ?? ''),
    whole: false,
  };
}

export const isJsonObject = (text: string): boolean => isObject(parsedJson(text));

export const beginsObject = (text: string): boolean => text.trimStart().startsWith('{');

/** Arguments as the object that they should be, as JSON text: nothing is `{}`, and what is no object is kept in one. */
export function inputTextOf(text: string): string {
  if (text.trim() === '' || text.trim() === 'null') return '{}';
  return isJsonObject(text) ? text : JSON.stringify({ raw_arguments: text });
}
