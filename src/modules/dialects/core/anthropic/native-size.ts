import { isObject } from '../json-value.js';
import type { PromptSize } from '../prompt-size.js';

/** The bytes of a Messages body that are text, and the images beside them, wherever in its tree they stand. */
export function nativeSize(body: Buffer, tree: unknown): PromptSize {
  let images = 0;
  let imageBytes = 0;
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (!isObject(value)) return;
    const source = value['source'];
    if (value['type'] === 'image' && isObject(source)) {
      images += 1;
      if (typeof source['data'] === 'string') imageBytes += source['data'].length;
      return;
    }
    Object.values(value).forEach(visit);
  };
  if (isObject(tree)) visit(tree['messages']);
  return { textBytes: Math.max(0, body.length - imageBytes), images };
}
