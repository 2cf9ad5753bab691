/** A fault that does not know its line yet. */
export interface Finding {
  /** What it is about. */
  readonly path: string;
  readonly message: string;
  /** The message goes on from the value at the path, which only the file can show. */
  readonly quotes?: boolean;
  /** A missing key has no place of its own: its parent's path. Absent: the path itself. */
  readonly at?: string;
  /** It points at the key rather than at the value. */
  readonly onKey?: boolean;
}

/** The path of the document itself. */
export const ROOT = '';

const PLAIN_KEY = /^[A-Za-z_][A-Za-z0-9_-]*$/u;

/** The path of a key in a map: `server.listen`; keys that would be ambiguous are quoted. */
export function pathOf(parent: string, key: string): string {
  if (!PLAIN_KEY.test(key)) return `${parent}[${JSON.stringify(key)}]`;
  return parent === ROOT ? key : `${parent}.${key}`;
}

export const itemPath = (parent: string, index: number): string => `${parent}[${index}]`;

const MAX_QUOTED_CHARS = 40;

/** A value as messages show it, cut short. Lists and maps are only named: what they hold might come from the environment. */
export function quoted(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  const text = typeof value === 'string' ? JSON.stringify(withoutPassword(value)) : String(value);
  return text.length > MAX_QUOTED_CHARS ? `${text.slice(0, MAX_QUOTED_CHARS - 1)}…` : text;
}

/** A fault is printed where many can read it: what stands before the host of a URL is not. */
const withoutPassword = (text: string): string => text.replace(/\/\/[^/@\s]*@/g, '//…@');
