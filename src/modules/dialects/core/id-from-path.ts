/**
 * The id behind `base` in a request target, decoded exactly once: ids hold `/` and `:`, and clients write them encoded
 * or not. undefined where it is not percent-encoded UTF-8.
 */
export function idFromPath(target: string, base: string): string | undefined {
  const query = target.indexOf('?');
  const encoded = target.slice(base.length, query < 0 ? undefined : query);
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
