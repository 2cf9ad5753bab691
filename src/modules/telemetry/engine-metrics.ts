import type { Registry } from 'prom-client';
import type { Endpoint, FaultCounts } from '../engine-observer/endpoint.js';
import { LiveMetric, registerTally, type LiveValue } from './tallies.js';

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

/** Shows the gateway's own reading of the engines, as it is when somebody reads. What is not known is not shown. */
export function showEngines(registry: Registry, engines: Engines, observed: readonly ObservedModels[]): void {
  const show = (type: 'gauge' | 'counter', name: string, help: string, read: () => readonly LiveValue[]): void => {
    registerTally(registry, new LiveMetric(name, help, type, read));
  };
  const byEndpoint = (name: string, help: string, value: (one: Endpoint) => number | undefined): void => {
    show('gauge', name, help, () =>
      observed.flatMap(({ upstream }) =>
        engines.endpoints(upstream).flatMap((one) => {
          const known = one.state === 'stale' ? undefined : value(one);
          return known === undefined ? [] : [{ labels: { upstream, endpoint: one.id }, value: known }];
        }),
      ),
    );
  };
  const byModel = (name: string, help: string, value: (all: readonly Endpoint[]) => number | undefined): void => {
    show('gauge', name, help, () =>
      observed.flatMap(({ upstream, models }) => {
        const known = value(engines.endpoints(upstream).filter(({ state }) => state !== 'stale'));
        return known === undefined ? [] : models.map((model) => ({ labels: { model }, value: known }));
      }),
    );
  };
  byEndpoint('engine_requests_running', 'Requests in the batch', ({ snapshot }) => snapshot?.running);
  byEndpoint('engine_requests_waiting', 'Requests queued in the engine', ({ snapshot }) => snapshot?.waiting);
  byEndpoint('engine_kv_usage_ratio', 'KV memory in use', ({ snapshot }) => snapshot?.kvUsage);
  byModel('vllm_requests_running', 'Requests in the batch, over all endpoints', (all) =>
    sum(all.map(({ snapshot }) => snapshot?.running)),
  );
  byModel('vllm_kv_usage_perc', 'KV memory in use, of the fullest endpoint', (all) =>
    most(all.map(({ snapshot }) => snapshot?.kvUsage)),
  );
  show('gauge', 'observer_degraded', '1: a gauge the gate needs is missing or unreadable', () =>
    observed.map(({ upstream }) => ({
      labels: { upstream },
      value: engines.endpoints(upstream).some(({ degraded }) => degraded) ? 1 : 0,
    })),
  );
  show('counter', 'engine_state_stale_total', 'Turns to stale', () =>
    observed.map(({ upstream }) => ({ labels: { upstream }, value: engines.totals(upstream).staleCount })),
  );
  show('counter', 'engine_scrape_faults_total', 'Failed polls and skipped lines', () =>
    observed.flatMap(({ upstream }) =>
      Object.entries(engines.totals(upstream).faults).map(([reason, value]) => ({
        labels: { upstream, reason },
        value,
      })),
    ),
  );
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
