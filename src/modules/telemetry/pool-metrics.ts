import type { Registry } from 'prom-client';
import type { EndpointSnapshot, UpstreamSnapshot } from '../admission/upstream-snapshot.js';
import { LiveMetric, registerTally, type LiveValue } from './tallies.js';
import { TenantNames } from './tenant-names.js';

type Read = () => readonly UpstreamSnapshot[];

/** Shows slots, queues and the ledger's view, as they are when somebody reads. */
export function showPools(registry: Registry, read: Read): void {
  const byUpstream = (name: string, help: string, value: (one: UpstreamSnapshot) => number): void => {
    show(registry, 'gauge', name, help, () =>
      read().map((one) => ({ labels: { upstream: one.upstream }, value: value(one) })),
    );
  };
  const byEndpoint = (name: string, help: string, value: (one: EndpointSnapshot) => number): void => {
    show(registry, 'gauge', name, help, () =>
      read().flatMap(({ upstream, endpoints }) =>
        endpoints.map((one) => ({ labels: { upstream, endpoint: one.endpoint }, value: value(one) })),
      ),
    );
  };
  byUpstream('upstream_in_flight', 'Requests at the upstream from this gateway', (one) => one.requests);
  byUpstream('slots_in_use', 'Slots taken', (one) => one.inUse);
  byUpstream('slots_limit', 'Slots there are', (one) => one.limit);
  byUpstream('pool_saturation', 'How full the endpoint is that is least full', (one) => one.saturation);
  byEndpoint('admission_prefill_backlog_seconds', 'Prefill ahead of a newcomer', (one) => one.prefillBacklogMs / 1000);
  byEndpoint('admission_kv_reserved_tokens', 'KV memory set aside', (one) => one.kvReservedTokens);
  byEndpoint('engine_batch_capacity', 'Sequences that run at once', (one) => one.slots);
  byEndpoint(
    'engine_prefill_tokens_per_second',
    'Learned, for prompts of 8000 tokens',
    (one) => one.prefillTokensPerSecond,
  );
  show(registry, 'gauge', 'admission_queue_depth', 'Requests that wait', () => read().flatMap(queueDepths));
  show(registry, 'counter', 'admission_decisions_total', 'Heads held back, by the test that failed', () =>
    read().flatMap(decisions),
  );
  const tenants = new TenantSeries();
  show(registry, 'counter', 'admission_tenant_tokens_total', 'Service received, in token equivalents', () =>
    tenants.read(read()),
  );
}

function show(
  registry: Registry,
  type: 'gauge' | 'counter',
  name: string,
  help: string,
  read: () => readonly LiveValue[],
): void {
  registerTally(registry, new LiveMetric(name, help, type, read));
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
