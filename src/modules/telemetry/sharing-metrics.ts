import type { Registry } from 'prom-client';
import { LiveMetric, registerTally } from './tallies.js';

/** Shows whether the gateways know of each other what they should. */
export function showSharing(registry: Registry, slots: { readonly degraded: boolean }): void {
  const help = '1: the shared store or the peers are out, shares are kept instead';
  const read = () => [{ labels: {}, value: slots.degraded ? 1 : 0 }];
  registerTally(registry, new LiveMetric('admission_store_degraded', help, 'gauge', read));
}
