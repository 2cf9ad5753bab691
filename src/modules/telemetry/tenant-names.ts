const MOST_TENANTS = 100;

/** Labels are bounded: the first hundred tenants have their names, all others are `other`. */
export class TenantNames {
  readonly #named = new Set<string>();

  nameOf(tenant: string): string {
    if (!this.#named.has(tenant) && this.#named.size >= MOST_TENANTS) return 'other';
    this.#named.add(tenant);
    return tenant;
  }
}
