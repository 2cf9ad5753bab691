import { Registry } from 'prom-client';
import { findSample, parseSamples } from '../../../test/support/metric-samples.js';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { Budgets } from '../budgets/budgets.js';
import type { MetricPage } from '../workers/topics.js';
import { showBudgets } from './budget-metrics.js';
import { showEngines } from './engine-metrics.js';
import { Metrics } from './metrics.js';
import { showPools } from './pool-metrics.js';
import { UpstreamHealth } from './upstream-health.js';
import { pageFrom, RULES, WorkerPages } from './worker-pages.js';

const metric = (
  name: string,
  type: string,
  value: number,
  labels: Readonly<Record<string, string>> = {},
): MetricPage => ({ name, type, aggregator: 'sum', values: [{ labels, value }], ...{ help: name } });

describe('the pages of several workers', () => {
  it('are added up where each has its own, and counted once where all see the same', async () => {
    const pages = new WorkerPages<string>();
    const page = (inUse: number, up: number, degraded: number) => [
      metric('slots_in_use', 'gauge', inUse, { upstream: 'a' }),
      metric('slots_limit', 'gauge', 8, { upstream: 'a' }),
      metric('upstream_up', 'gauge', up, { upstream: 'a' }),
      metric('admission_store_degraded', 'gauge', degraded),
      metric('http_requests_total', 'counter', 10, { route: '/' }),
    ];
    pages.take('one', page(3, 1, 0));
    pages.take('two', page(2, 0, 1));
    const text = await pages.render([]);
    const value = (name: string) => findSample(text, name);
    expect(['slots_in_use', 'slots_limit', 'upstream_up', 'admission_store_degraded'].map(value)).toEqual([5, 8, 0, 1]);
    expect(value('http_requests_total')).toBe(20);
    expect(parseSamples(text)).toHaveLength(5);
  });

  it('show what the poller alone knows as it says it, whatever a worker was told', async () => {
    const pages = new WorkerPages<string>();
    pages.take('one', [metric('engine_scrape_faults_total', 'counter', 2, { upstream: 'a', reason: 'connect' })]);
    const own = [metric('engine_scrape_faults_total', 'counter', 7, { upstream: 'a', reason: 'connect' })];
    expect(findSample(await pages.render(own), 'engine_scrape_faults_total')).toBe(7);
  });

  it('keep what one that has gone had counted, and nothing else of it', async () => {
    const pages = new WorkerPages<string>();
    const page = (count: number, inUse: number) => [
      metric('http_requests_total', 'counter', count),
      metric('slots_in_use', 'gauge', inUse),
    ];
    for (const [worker, count] of [['one', 5], ['two', 7], ['three', 1]] as const) pages.take(worker, page(count, 2)); // prettier-ignore
    pages.forget('one');
    pages.forget('two');
    pages.forget('never there');
    const text = await pages.render([]);
    expect([findSample(text, 'http_requests_total'), findSample(text, 'slots_in_use')]).toEqual([13, 2]);
  });

  it('name a hundred tenants and no more, over all workers', async () => {
    const pages = new WorkerPages<string>();
    for (const worker of ['one', 'two']) {
      const values = Array.from({ length: 80 }, (_, at) => ({ labels: { tenant: `${worker}-${at}` }, value: 1 }));
      pages.take(worker, [{ ...metric('admission_tenant_tokens_total', 'counter', 0), values }]);
    }
    const samples = parseSamples(await pages.render([]));
    expect(samples).toHaveLength(101);
    expect(samples.find(({ labels }) => labels['tenant'] === 'other')?.value).toBe(60);
  });

  it('have a rule for every gauge that there is', async () => {
    const registry = new Registry();
    const clock = new FakeClock();
    const budgets = new Budgets({ windowMs: 60_000, default: { requests: 1, tokens: 1 }, tenants: [] }, 1, clock);
    new Metrics(registry, new UpstreamHealth([], () => [], clock));
    showPools(registry, () => []);
    showBudgets(registry, budgets);
    const totals = { faults: {}, staleCount: 0 };
    showEngines(registry, { endpoints: () => [], totals: () => totals as never }, []);
    const page = pageFrom(await registry.getMetricsAsJSON());
    const gauges = page.filter(({ type }) => type === 'gauge').map(({ name }) => name);
    expect(gauges.length).toBeGreaterThan(12);
    expect(gauges.filter((name) => !RULES.has(name))).toEqual([]);
    const fromPoller = page.filter(({ name }) => name.startsWith('engine_s')).map(({ name }) => RULES.get(name));
    expect(fromPoller).toEqual(['poller', 'poller']);
  });
});
