/** A JSON object as a test reads it: any member, none promised. */
export type JsonObject = Record<string, unknown>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** The value as an object, or an empty one: for reading members of something that may be anything. */
export const objectOr = (value: unknown): JsonObject => (isObject(value) ? value : {});

export const listOr = (value: unknown): readonly unknown[] => (isList(value) ? value : []);

/** Only an own member counts: `constructor` of a parsed object is not there. */
export const member = (object: JsonObject, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** The parsed text, or undefined where it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The value as a failure message shows it: one line, cut short. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 157)}…` : text;
}
