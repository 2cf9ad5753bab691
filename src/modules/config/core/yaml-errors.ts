import type { YAMLError } from 'yaml';

export const TOO_DEEP = 'is nested too deeply to be read';

/** Where the library's own words speak to programmers rather than to whoever writes the file. */
const IN_OUR_WORDS: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  MULTIPLE_DOCS: 'the file holds more than one document, and only one is taken',
  TAB_AS_INDENT: 'tabs are not taken as indentation: use spaces',
};

/** The library reads nested values by recursion, and at times takes its own overflow for an error of the text. */
const OVERFLOW = /stack overflow|call stack/iu;

/** What keeps a text from being YAML. */
export const messageOf = ({ code, message }: YAMLError): string =>
  OVERFLOW.test(message) ? TOO_DEEP : `is not valid YAML: ${IN_OUR_WORDS[code] ?? message}`;

/** By name: the error may come from another realm, as in tests. */
export const isStackOverflow = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'name' in error && error.name === 'RangeError';

/** One slip can be told thousands of times over, as by brackets that all end where the text does. */
export function firstAtEachPlace(errors: readonly YAMLError[]): ReadonlyMap<number, YAMLError> {
  const first = new Map<number, YAMLError>();
  for (const error of errors) if (!first.has(error.pos[0])) first.set(error.pos[0], error);
  return first;
}
