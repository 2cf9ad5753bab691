/** What a prefix needs to be found. */
export interface Prefixed {
  readonly prefix: string;
}

/** The configured prefix that a path lies in: the prefix itself, or below it at a segment's border. */
export function prefixOf<P extends Prefixed>(path: string, prefixes: readonly P[]): P | undefined {
  return prefixes.find(({ prefix }) => path === prefix || (path.startsWith(prefix) && path[prefix.length] === '/'));
}
