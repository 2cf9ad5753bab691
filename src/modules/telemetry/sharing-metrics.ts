import type { Registry } from 'prom-client';
import { LiveMetric, registerTally } from './tallies.js';

/** Shows whether this gateway knows what the others hold. */
export function showSharing(registry: Registry, sharing: { readonly degraded: boolean }): void {
  const degraded = () => [{ labels: {}, value: sharing.degraded ? 1 : 0 }];
  const help = '1: the shared store or the peers are out, shares are kept instead';
  registerTally(registry, new LiveMetric('admission_store_degraded', help, 'gauge', degraded));
}
