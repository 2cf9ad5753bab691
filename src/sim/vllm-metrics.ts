import type { EngineCore } from './core/engine-core.js';
import type { EngineGauges } from './core/engine-gauges.js';
import type { VirtualEngine } from './core/virtual-engine.js';
import { PrometheusText, type Labels } from './wire/prometheus-text.js';

export interface VllmMetricsOptions {
  readonly model: string;
  /** V0 has no `engine` label and another name for the KV gauge. */
  readonly names: 'v1' | 'v0';
  /** The KV gauge once for each API process, right in one of them and 0 in the others. */
  readonly pidSeries: boolean;
  /** Seconds since 1970. */
  readonly startedAt: number;
}

/** One engine core at the moment of the scrape. */
interface Scheduler {
  readonly core: EngineCore;
  readonly gauges: EngineGauges;
  readonly engine: string;
  readonly labels: Labels;
}

type Row = readonly [name: string, help: string, value: (gauges: EngineGauges) => number];

const PIDS = ['271', '272', '273', '274'];
/** The one that tells the truth. */
const TRUE_PID = '273';

const GAUGES: readonly Row[] = [
  ['vllm:num_requests_running', 'Number of requests in model execution batches.', (of) => of.running],
  ['vllm:num_requests_waiting', 'Number of requests waiting to be processed.', (of) => of.waiting],
];

const COUNTERS: readonly Row[] = [
  [
    'vllm:prefix_cache_queries_total',
    'Prefix cache queries, in terms of number of queried tokens.',
    (of) => of.prefixQueries,
  ],
  ['vllm:prefix_cache_hits_total', 'Prefix cache hits, in terms of number of cached tokens.', (of) => of.prefixHits],
  ['vllm:num_preemptions_total', 'Cumulative number of preemption from the engine.', (of) => of.preemptions],
  ['vllm:prompt_tokens_total', 'Number of prefill tokens processed.', (of) => of.promptTokens],
  ['vllm:prompt_tokens_cached_total', 'Number of cached prompt tokens (local + external).', (of) => of.cachedTokens],
  ['vllm:generation_tokens_total', 'Number of generation tokens processed.', (of) => of.generationTokens],
];

/** Of V0 alone. */
const SWAPPED: Row = ['vllm:num_requests_swapped', 'Number of requests swapped to CPU.', () => 0];

/** The metrics page of a vLLM server with one or more engine cores. */
export function vllmMetrics(engines: readonly VirtualEngine[], options: VllmMetricsOptions): string {
  const page = new PrometheusText('python');
  const schedulers = engines.map((engine, at) => schedulerOf(engine, String(at), options));
  rows(page, 'gauge', options.names === 'v0' ? [...GAUGES, SWAPPED] : GAUGES, schedulers);
  if (options.names === 'v1') waitingByReason(page, schedulers);
  kvUsage(page, schedulers, options);
  rows(page, 'counter', COUNTERS, schedulers);
  outcomes(page, schedulers);
  histograms(page, schedulers);
  cacheConfig(page, schedulers, options);
  page.family('process_start_time_seconds', 'gauge', 'Start time of the process since unix epoch in seconds.');
  page.sample('process_start_time_seconds', {}, options.startedAt);
  return page.toString();
}

function schedulerOf(virtual: VirtualEngine, engine: string, { names, model }: VllmMetricsOptions): Scheduler {
  const labels: Labels = names === 'v1' ? { engine, model_name: model } : { model_name: model };
  return { core: virtual.core, gauges: virtual.gauges(), engine, labels };
}

function rows(
  page: PrometheusText,
  type: 'gauge' | 'counter',
  families: readonly Row[],
  from: readonly Scheduler[],
): void {
  for (const [name, help, value] of families) {
    page.family(name, type, help);
    for (const { labels, gauges } of from) page.sample(name, labels, value(gauges));
  }
}

function waitingByReason(page: PrometheusText, from: readonly Scheduler[]): void {
  const name = 'vllm:num_requests_waiting_by_reason';
  page.family(name, 'gauge', 'Number of waiting requests by reason.');
  for (const { labels, gauges } of from) {
    page.sample(name, { ...labels, reason: 'capacity' }, gauges.waiting);
    page.sample(name, { ...labels, reason: 'deferred' }, 0);
  }
}

function kvUsage(page: PrometheusText, from: readonly Scheduler[], { names, pidSeries }: VllmMetricsOptions): void {
  const name = names === 'v1' ? 'vllm:kv_cache_usage_perc' : 'vllm:gpu_cache_usage_perc';
  page.family(name, 'gauge', 'KV-cache usage. 1 means 100 percent usage.');
  for (const { labels, gauges } of from) {
    if (!pidSeries) page.sample(name, labels, gauges.kvUsage);
    else for (const pid of PIDS) page.sample(name, { ...labels, pid }, pid === TRUE_PID ? gauges.kvUsage : 0);
  }
}

function outcomes(page: PrometheusText, from: readonly Scheduler[]): void {
  const name = 'vllm:request_success_total';
  page.family(name, 'counter', 'Count of successfully processed requests.');
  for (const { labels, gauges } of from) {
    page.sample(name, { ...labels, finished_reason: 'stop' }, gauges.finished);
    page.sample(name, { ...labels, finished_reason: 'abort' }, gauges.aborted);
  }
}

function histograms(page: PrometheusText, from: readonly Scheduler[]): void {
  const prefill = 'vllm:request_prefill_time_seconds';
  page.family(prefill, 'histogram', 'Histogram of time spent in PREFILL phase for request.');
  for (const { core, labels } of from) page.histogram(prefill, labels, core.prefillSeconds);
  const tokens = 'vllm:iteration_tokens_total';
  page.family(tokens, 'histogram', 'Histogram of number of tokens per engine_step.');
  for (const { core, labels } of from) page.histogram(tokens, labels, core.stepTokens);
}

function cacheConfig(page: PrometheusText, from: readonly Scheduler[], { names }: VllmMetricsOptions): void {
  page.family('vllm:cache_config_info', 'gauge', 'Information of the LLMEngine CacheConfig');
  for (const { core, engine } of from) {
    const { blockTokens, blocks } = core.profile;
    const labels: Labels = { block_size: String(blockTokens), cache_dtype: 'auto', enable_prefix_caching: 'True' };
    const who: Labels = names === 'v1' ? { engine } : {};
    const sizes = { gpu_memory_utilization: '0.9', num_cpu_blocks: 'None', num_gpu_blocks: String(blocks) };
    page.sample('vllm:cache_config_info', { ...labels, ...who, ...sizes, num_gpu_blocks_override: 'None' }, 1);
  }
}
