/** A place where two JSON values are not the same; undefined: nothing is there. */
export interface Difference {
  /** `choices[0].delta`; '' is the whole. */
  readonly path: string;
  readonly left: unknown;
  readonly right: unknown;
}

type Ignores = (name: string) => boolean;

/** Every place where two JSON values differ, as deep as can be told. Members that `ignores` names are passed over. */
export function differencesOf(left: unknown, right: unknown, ignores: Ignores = () => false, path = ''): Difference[] {
  if (isObject(left) && isObject(right)) return memberDifferences(left, right, ignores, path);
  if (Array.isArray(left) && Array.isArray(right)) {
    const longer = left.length > right.length ? left : right;
    return longer.flatMap((_, at) => differencesOf(left[at], right[at], ignores, `${path}[${at}]`));
  }
  return Object.is(left, right) ? [] : [{ path, left, right }];
}

function memberDifferences(left: JsonObject, right: JsonObject, ignores: Ignores, path: string): Difference[] {
  const names = new Set([...Object.keys(left), ...Object.keys(right)].filter((name) => !ignores(name)));
  return [...names].flatMap((name) =>
    differencesOf(own(left, name), own(right, name), ignores, path === '' ? name : `${path}.${name}`),
  );
}

type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const own = (object: JsonObject, name: string): unknown => (Object.hasOwn(object, name) ? object[name] : undefined);

const SHOWN_CHARACTERS = 100;

/** A value on one line, cut short. */
export function shownValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS - 1)}…` : text;
}

/** The parsed text; undefined: it is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
