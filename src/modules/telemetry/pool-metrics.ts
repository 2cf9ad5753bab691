import type { Registry } from 'prom-client';
import type { EndpointSnapshot, UpstreamSnapshot } from '../admission/upstream-snapshot.js';
import { usableSaturation } from '../admission/usable-saturation.js';
import type { GaugeName } from './series.js';
import { registerLive, type LiveValue } from './tallies.js';
import { TenantNames } from './tenant-names.js';

type Read = () => readonly UpstreamSnapshot[];

/** Shows slots, queues and the ledger's view, as they are when somebody reads. */
export function showPools(registry: Registry, read: Read): void {
  const byUpstream = (name: GaugeName, value: (one: UpstreamSnapshot) => number): void => {
    registerLive(registry, name, () =>
      read().map((one) => ({ labels: { upstream: one.upstream }, value: value(one) })),
    );
  };
  const byEndpoint = (name: GaugeName, value: (one: EndpointSnapshot) => number): void => {
    registerLive(registry, name, () =>
      read().flatMap(({ upstream, endpoints }) =>
        endpoints.map((one) => ({ labels: { upstream, endpoint: one.endpoint }, value: value(one) })),
      ),
    );
  };
  byUpstream('upstream_in_flight', (one) => one.requests);
  byUpstream('slots_in_use', (one) => one.inUse);
  byUpstream('slots_limit', (one) => one.limit);
  byUpstream('pool_saturation', ({ endpoints, saturation }) => usableSaturation(endpoints) ?? saturation);
  byEndpoint('admission_prefill_backlog_seconds', (one) => one.prefillBacklogMs / 1000);
  byEndpoint('admission_kv_reserved_tokens', (one) => one.kvReservedTokens);
  byEndpoint('engine_batch_capacity', (one) => one.slots);
  byEndpoint('engine_prefill_tokens_per_second', (one) => one.prefillTokensPerSecond);
  registerLive(registry, 'admission_queue_depth', () => read().flatMap(queueDepths));
  registerLive(registry, 'admission_decisions_total', () => read().flatMap(decisions));
  const tenants = new TenantSeries();
  registerLive(registry, 'admission_tenant_tokens_total', () => tenants.read(read()));
}

const queueDepths = ({ upstream, waiting }: UpstreamSnapshot): LiveValue[] =>
  waiting.map(({ band, depth }) => ({ labels: { upstream, band }, value: depth }));

const decisions = ({ upstream, held }: UpstreamSnapshot): LiveValue[] =>
  [...held].map(([test, value]) => ({ labels: { upstream, test }, value }));

/** Names the first tenants that were seen, over all upstreams and bands, and all others `other`. */
class TenantSeries {
  readonly #names = new TenantNames();

  read(of: readonly UpstreamSnapshot[]): LiveValue[] {
    const sums = new Map<string, { labels: Record<string, string>; value: number }>();
    for (const { upstream, tenants } of of) {
      for (const { band, tenant, tokens } of tenants) {
        const labels = { upstream, band, tenant: this.#names.nameOf(tenant) };
        const key = Object.values(labels).join('\n');
        const sum = sums.get(key) ?? { labels, value: 0 };
        sum.value += tokens;
        sums.set(key, sum);
      }
    }
    return [...sums.values()];
  }
}
