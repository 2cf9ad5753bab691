import type { Registry } from 'prom-client';
import { registerLive } from './tallies.js';

/** Shows whether this gateway knows what the others hold. */
export function showSharing(registry: Registry, sharing: { readonly degraded: boolean }): void {
  registerLive(registry, 'admission_store_degraded', () => [{ labels: {}, value: sharing.degraded ? 1 : 0 }]);
}
