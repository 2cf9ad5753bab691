const OLDEST_VERSION = '2023-06-01';
/** What a field of this kind may hold; anything else is not worth sending. */
const PLAIN = /^[\x20-\x7e]{1,1024}$/;

/** The fields of the dialect that an engine which speaks it wants to see, as name, value, name, value … */
export function nativeFields(fields: Readonly<Record<string, string | string[] | undefined>>): string[] {
  const version = plain(fields['anthropic-version']) ?? OLDEST_VERSION;
  const beta = plain(fields['anthropic-beta']);
  return ['anthropic-version', version, ...(beta === undefined ? [] : ['anthropic-beta', beta])];
}

const plain = (value: string | string[] | undefined): string | undefined =>
  typeof value === 'string' && PLAIN.test(value) ? value : undefined;
