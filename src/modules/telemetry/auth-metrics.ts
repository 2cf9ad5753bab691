import type { Registry } from 'prom-client';
import type { CallerResolver } from '../auth/caller-resolver.js';
import type { Issuers } from '../auth/issuers.js';
import { registerLive, type LiveValue } from './tallies.js';

/** Shows who is turned away for what, and how the issuers answer. */
export function showAuth(
  registry: Registry,
  callers: Pick<CallerResolver, 'rejections'>,
  issuers: Pick<Issuers, 'outcomes'>,
): void {
  registerLive(registry, 'auth_rejected_total', () => seriesOf('reason', callers.rejections));
  registerLive(registry, 'jwks_refresh_total', () => seriesOf('outcome', issuers.outcomes));
}

const seriesOf = (label: string, counts: ReadonlyMap<string, number>): LiveValue[] =>
  [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }));
