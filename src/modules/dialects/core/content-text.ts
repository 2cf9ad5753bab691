import { isObject, isText } from './json-value.js';

/** The text of a message's content: as it is, or put together where an engine answers in parts; empty: there is none. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: unknown) => (isObject(part) && isText(part['text']) ? part['text'] : '')).join('');
}
