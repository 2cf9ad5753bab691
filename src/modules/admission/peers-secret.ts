import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';

const MOST_TENANTS = 10_000;

/** What the gateways have in common and nobody else has. It is never sent: only what is derived from it. */
export class PeersSecret {
  #secret: string;
  #bearer: Buffer;
  #tenants = new Map<string, string>();

  /** Throws where the file cannot be read or is empty. */
  constructor(private readonly file: string) {
    this.#secret = readSecret(file);
    this.#bearer = this.#derive('bearer', '');
  }

  /** What this gateway proves itself with. */
  get bearer(): string {
    return this.#bearer.toString('hex');
  }

  isBearer(text: string): boolean {
    const given = Buffer.from(text, 'hex');
    return given.length === this.#bearer.length && timingSafeEqual(given, this.#bearer);
  }

  /** A tenant's name for the others. */
  tenantKey(tenant: string): string {
    let key = this.#tenants.get(tenant);
    if (key === undefined) {
      if (this.#tenants.size >= MOST_TENANTS) this.#tenants.clear();
      key = this.#derive('tenant', tenant).toString('base64url').slice(0, 22);
      this.#tenants.set(tenant, key);
    }
    return key;
  }

  /** Takes over what the file says now. Throws, and changes nothing, where it says nothing. */
  reread(): void {
    const secret = readSecret(this.file);
    if (secret === this.#secret) return;
    this.#secret = secret;
    this.#bearer = this.#derive('bearer', '');
    this.#tenants.clear();
  }

  #derive(purpose: string, text: string): Buffer {
    return createHmac('sha256', this.#secret).update(`admission peers ${purpose}\0${text}`).digest();
  }
}

function readSecret(file: string): string {
  const secret = readFileSync(file, 'utf8').trim();
  if (secret === '') throw new Error(`${file} is empty: it has to hold the secret of the gateways`);
  return secret;
}
