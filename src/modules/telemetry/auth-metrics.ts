import type { Registry } from 'prom-client';
import type { CallerResolver } from '../auth/caller-resolver.js';
import type { Issuers } from '../auth/issuers.js';
import { LiveMetric, registerTally, type LiveValue } from './tallies.js';

/** Shows who is turned away for what, and how the issuers answer. */
export function showAuth(registry: Registry, callers: CallerResolver, issuers: Issuers): void {
  const rejected = () => seriesOf('reason', callers.rejections);
  const refreshed = () => seriesOf('outcome', issuers.outcomes);
  registerTally(
    registry,
    new LiveMetric('auth_rejected_total', 'Requests without a right to what they ask', 'counter', rejected),
  );
  registerTally(registry, new LiveMetric('jwks_refresh_total', 'Fetches of key sets by outcome', 'counter', refreshed));
}

const seriesOf = (label: string, counts: ReadonlyMap<string, number>): LiveValue[] =>
  [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }));
