import { AggregatorRegistry, type PrometheusContentType } from 'prom-client';
import type { MetricPage, MetricValue } from '../workers/topics.js';
import { TenantNames } from './tenant-names.js';

/**
 * How the values of several workers become one: prom-client's names, `poller`: of the process that polls alone, and
 * `newest`: of the one that has learnt it last.
 */
type Rule = 'sum' | 'max' | 'min' | 'average' | 'first' | 'poller' | 'newest';

/**
 * Counters and histograms are sums. Of every other series this says what it means for the gateway as a whole: what each
 * worker has of its own is added up; what all of them see alike counts once; a flag tells the worst of them.
 */
export const RULES: ReadonlyMap<string, Rule> = new Map([
  ['slots_in_use', 'sum'],
  ['slots_limit', 'max'],
  ['upstream_in_flight', 'sum'],
  ['admission_queue_depth', 'sum'],
  ['pool_saturation', 'max'],
  ['admission_prefill_backlog_seconds', 'max'],
  ['admission_kv_reserved_tokens', 'max'],
  ['engine_batch_capacity', 'max'],
  ['engine_prefill_tokens_per_second', 'average'],
  ['upstream_up', 'newest'],
  ['budget_store_up', 'min'],
  ['admission_store_degraded', 'max'],
  ['engine_requests_running', 'poller'],
  ['engine_requests_waiting', 'poller'],
  ['engine_kv_usage_ratio', 'poller'],
  ['vllm_requests_running', 'poller'],
  ['vllm_kv_usage_perc', 'poller'],
  ['observer_degraded', 'poller'],
  ['engine_state_stale_total', 'poller'],
  ['engine_scrape_faults_total', 'poller'],
  ['nodejs_eventloop_lag_seconds', 'max'],
  ['nodejs_eventloop_lag_min_seconds', 'min'],
  ['nodejs_eventloop_lag_max_seconds', 'max'],
  ['nodejs_eventloop_lag_mean_seconds', 'max'],
  ['nodejs_eventloop_lag_stddev_seconds', 'max'],
  ['nodejs_eventloop_lag_p50_seconds', 'max'],
  ['nodejs_eventloop_lag_p90_seconds', 'max'],
  ['nodejs_eventloop_lag_p99_seconds', 'max'],
  ['process_start_time_seconds', 'min'],
  ['nodejs_version_info', 'first'],
]);

type Page = readonly MetricPage[];

/** The metrics of several workers as those of one gateway. */
export class WorkerPages<Worker> {
  readonly #last = new Map<Worker, Page>();
  /** What workers that have gone had counted: counters never fall. */
  #gone = Promise.resolve<Page>([]);
  /** Each worker names so many tenants, and not all of them the same. */
  readonly #tenants = new TenantNames();

  /** Takes what a worker shows now. */
  take(worker: Worker, page: Page): void {
    const its = page.filter(({ name }) => RULES.get(name) !== 'poller');
    this.#last.set(
      worker,
      its.map((metric) => this.#named(ruled(metric))),
    );
  }

  #named(metric: MetricPage): MetricPage {
    if (!ofTenants(metric)) return metric;
    const nameOf = (tenant: string): string => this.#tenants.nameOf(tenant);
    const values = metric.values.map(({ labels, ...value }) => {
      const { tenant } = labels;
      return { ...value, labels: tenant === undefined ? labels : { ...labels, tenant: nameOf(tenant) } };
    });
    return { ...metric, values };
  }

  /** Its gauges go with it; what it had counted stays, as it was read last. */
  forget(worker: Worker): void {
    const counted = (this.#last.get(worker) ?? []).filter(({ type }) => type === 'counter' || type === 'histogram');
    this.#last.delete(worker);
    if (counted.length > 0) this.#gone = this.#gone.then((gone) => added(gone, counted));
  }

  /** The page of them all; `own`: what this process shows itself. */
  async render(own: Page): Promise<string> {
    const gone = await this.#gone;
    return merged(newestOf([own.map(ruled), gone, ...this.#last.values()])).metrics();
  }
}

const ofTenants = ({ name }: MetricPage): boolean => name === 'admission_tenant_tokens_total';

/** What is on one page only, or left on one, is right whatever is said of the first. */
function ruled(metric: MetricPage): MetricPage {
  const rule = RULES.get(metric.name) ?? metric.aggregator;
  return { ...metric, aggregator: rule === 'poller' || rule === 'newest' ? 'first' : rule };
}

/** The pages with the last value alone of each series that goes by that. */
function newestOf(pages: readonly Page[]): Page[] {
  const goesByTime = ({ name }: MetricPage): boolean => RULES.get(name) === 'newest';
  const lastAt = new Map<string, number>();
  for (const { name, values } of pages.flat().filter(goesByTime)) {
    for (const { labels, atMs = 0 } of values) {
      const key = seriesKey(name, labels);
      lastAt.set(key, Math.max(lastAt.get(key) ?? 0, atMs));
    }
  }
  const isLast = ({ name }: MetricPage, { labels, atMs = 0 }: MetricValue): boolean =>
    atMs === lastAt.get(seriesKey(name, labels));
  return pages.map((page) =>
    page.map((metric) =>
      goesByTime(metric) ? { ...metric, values: metric.values.filter((value) => isLast(metric, value)) } : metric,
    ),
  );
}

const seriesKey = (name: string, labels: MetricValue['labels']): string => [name, ...Object.values(labels)].join('\n');

const merged = (pages: readonly Page[]) => AggregatorRegistry.aggregate<PrometheusContentType>([...pages]);

async function added(gone: Page, counted: Page): Promise<Page> {
  return pageFrom(await merged([gone, counted]).getMetricsAsJSON());
}

/** As the library gives it; its own type leaves the values out. */
export const pageFrom = (json: object): Page => json as Page;
