/** The paths that have a route of their own, and their methods: what tells a wrong method from a wrong path. */
export class FixedPaths {
  readonly #exact = new Map<string, string[]>();
  readonly #below: [string, string[]][] = [];

  /** Adds a route as Fastify knows it: a plain path, or one that ends in a wildcard. */
  add(path: string, method: string): void {
    if (path === '*' || path === '/*') return;
    if (path.endsWith('/*')) return this.#addBelow(path.slice(0, -1), method);
    const methods = this.#exact.get(path);
    if (methods === undefined) this.#exact.set(path, [method]);
    else methods.push(method);
  }

  methodsOf(path: string): readonly string[] | undefined {
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact;
    return this.#below.find(([prefix]) => path.startsWith(prefix) && path.length > prefix.length)?.[1];
  }

  #addBelow(prefix: string, method: string): void {
    const known = this.#below.find(([other]) => other === prefix);
    if (known === undefined) this.#below.push([prefix, [method]]);
    else known[1].push(method);
  }
}
