import type { Registry } from 'prom-client';
import type { RoutingTable } from '../../common/config/routing-table.js';
import type { Endpoint, EngineSnapshot, FaultCounts } from '../engine-observer/endpoint.js';
import type { CounterName, GaugeName } from './series.js';
import { registerLive, type LiveValue } from './tallies.js';

/** What is read of the engines. */
export interface Engines {
  endpoints(upstream: string): readonly Endpoint[];
  totals(upstream: string): { readonly faults: FaultCounts; readonly staleCount: number };
}

/** An upstream, and the models that are asked of it. */
export interface ObservedModels {
  readonly upstream: string;
  readonly models: readonly string[];
}

/** The upstreams that are observed. */
export const observedModels = ({ upstreams, models }: RoutingTable): readonly ObservedModels[] =>
  upstreams
    .filter(({ observe }) => observe !== undefined)
    .map(({ name }) => ({
      upstream: name,
      models: models.filter(({ upstream }) => upstream.name === name).map(({ id }) => id),
    }));

/** Shows the gateway's own reading of the engines, as it is when somebody reads. What is not known is not shown. */
export function showEngines(registry: Registry, engines: Engines, observed: readonly ObservedModels[]): void {
  const all = new EngineSeries(registry, engines, observed);
  all.byEndpoint('engine_requests_running', ({ snapshot }) => snapshot?.running);
  all.byEndpoint('engine_requests_waiting', ({ snapshot }) => snapshot?.waiting);
  all.byEndpoint('engine_kv_usage_ratio', ({ snapshot }) => snapshot?.kvUsage);
  all.byModel('vllm_requests_running', (of) => sum(of.map(({ running }) => running)));
  all.byModel('vllm_kv_usage_perc', (of) => most(of.map(({ kvUsage }) => kvUsage)));
  all.byUpstream('observer_degraded', (upstream) =>
    engines.endpoints(upstream).some(({ degraded }) => degraded) ? 1 : 0,
  );
  all.byUpstream('engine_state_stale_total', (upstream) => engines.totals(upstream).staleCount);
  all.show('engine_scrape_faults_total', ({ upstream }) =>
    Object.entries(engines.totals(upstream).faults).map(([reason, value]) => ({ labels: { upstream, reason }, value })),
  );
}

/** Series of the observed upstreams, by what their labels are. */
class EngineSeries {
  constructor(
    private readonly registry: Registry,
    private readonly engines: Engines,
    private readonly observed: readonly ObservedModels[],
  ) {}

  show(name: GaugeName | CounterName, read: (one: ObservedModels) => readonly LiveValue[]): void {
    registerLive(this.registry, name, () => this.observed.flatMap(read));
  }

  byUpstream(name: GaugeName | CounterName, value: (upstream: string) => number): void {
    this.show(name, ({ upstream }) => [{ labels: { upstream }, value: value(upstream) }]);
  }

  byEndpoint(name: GaugeName, value: (one: Endpoint) => number | undefined): void {
    this.show(name, ({ upstream }) =>
      this.#fresh(upstream).flatMap((one) => {
        const known = value(one);
        return known === undefined ? [] : [{ labels: { upstream, endpoint: one.id }, value: known }];
      }),
    );
  }

  byModel(name: GaugeName, value: (all: readonly EngineSnapshot[]) => number | undefined): void {
    this.show(name, ({ upstream, models }) => {
      const known = value(this.#fresh(upstream).flatMap(({ snapshot }) => snapshot ?? []));
      return known === undefined ? [] : models.map((model) => ({ labels: { model }, value: known }));
    });
  }

  #fresh(upstream: string): readonly Endpoint[] {
    return this.engines.endpoints(upstream).filter(({ state }) => state !== 'stale');
  }
}

const known = (values: readonly (number | undefined)[]): number[] => values.filter((value) => value !== undefined);

function sum(values: readonly (number | undefined)[]): number | undefined {
  const found = known(values);
  return found.length === 0 ? undefined : found.reduce((total, value) => total + value, 0);
}

function most(values: readonly (number | undefined)[]): number | undefined {
  const found = known(values);
  return found.length === 0 ? undefined : Math.max(...found);
}
