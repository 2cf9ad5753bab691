import type { YAMLError } from 'yaml';

/** Where the library's own words speak to programmers rather than to whoever writes the file. */
const IN_OUR_WORDS: Readonly<Partial<Record<YAMLError['code'], string>>> = {
  MULTIPLE_DOCS: 'the file holds more than one document, and only one is taken',
  TAB_AS_INDENT: 'tabs are not taken as indentation: use spaces',
};

/** What keeps a text from being YAML. */
export const messageOf = (error: YAMLError): string =>
  `is not valid YAML: ${IN_OUR_WORDS[error.code] ?? error.message}`;

/** The library reads nested values by recursion. By name: the error may come from another realm, as in tests. */
export const isStackOverflow = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'name' in error && error.name === 'RangeError';
