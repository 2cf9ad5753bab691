const NAMED = 100;
const OTHERS = 'other';

/** Service received, by tenant: the first hundred by name, all others together, so that callers cannot make it grow. */
export class TenantTotals {
  readonly #tokens = new Map<string, number>();

  add(tenant: string, tokens: number): void {
    const name = this.#tokens.has(tenant) || this.#tokens.size < NAMED ? tenant : OTHERS;
    this.#tokens.set(name, (this.#tokens.get(name) ?? 0) + tokens);
  }

  entries(): readonly (readonly [string, number])[] {
    return [...this.#tokens];
  }
}
