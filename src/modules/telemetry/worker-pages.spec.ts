import { Registry } from 'prom-client';
import { findSample, parseSamples } from '../../../test/support/metric-samples.js';
import type { MetricPage } from '../workers/topics.js';
import { showEngines } from './engine-metrics.js';
import { SERIES } from './series.js';
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
    const page = (inUse: number, degraded: number) => [
      metric('slots_in_use', 'gauge', inUse, { upstream: 'a' }),
      metric('slots_limit', 'gauge', 8, { upstream: 'a' }),
      metric('admission_store_degraded', 'gauge', degraded),
      metric('http_requests_total', 'counter', 10, { route: '/' }),
    ];
    pages.take('one', page(3, 0));
    pages.take('two', page(2, 1));
    const text = await pages.render([]);
    const value = (name: string) => findSample(text, name);
    expect(['slots_in_use', 'slots_limit', 'admission_store_degraded'].map(value)).toEqual([5, 8, 1]);
    expect(value('http_requests_total')).toBe(20);
    expect(parseSamples(text)).toHaveLength(4);
  });

  it('believe of an upstream whoever has heard of it last', async () => {
    const pages = new WorkerPages<string>();
    const heard = (upstream: string, up: number, atMs: number) => ({ labels: { upstream }, value: up, atMs });
    const page = (...values: MetricPage['values']): MetricPage[] => [{ ...metric('upstream_up', 'gauge', 0), values }];
    pages.take('one', page(heard('a', 0, 10), heard('b', 1, 30)));
    pages.take('two', page(heard('a', 1, 20), heard('b', 0, 20), heard('c', 0, 0)));
    pages.take('three', page(heard('c', 0, 0)));
    const text = await pages.render([]);
    expect(['a', 'b', 'c'].map((upstream) => findSample(text, 'upstream_up', { upstream }))).toEqual([1, 1, 0]);
    expect(parseSamples(text)).toHaveLength(3);
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

  it('have a rule for every gauge of the list, and none for what there is not', () => {
    const gauges = Object.entries(SERIES).filter(([, { type }]) => type === 'gauge');
    expect(gauges.map(([name]) => name).filter((name) => !RULES.has(name))).toEqual([]);
    const own = [...RULES.keys()].filter((name) => !/^(process|nodejs)_/.test(name));
    expect(own.filter((name) => !(name in SERIES))).toEqual([]);
  });

  it('show all that comes of polling as the poller alone has it', async () => {
    const registry = new Registry();
    showEngines(registry, { endpoints: () => [], totals: () => ({ faults: {}, staleCount: 0 }) as never }, []);
    const shown = pageFrom(await registry.getMetricsAsJSON()).map(({ name }) => name);
    expect(shown.length).toBeGreaterThan(6);
    expect(shown.filter((name) => RULES.get(name) !== 'poller')).toEqual([]);
  });
});
