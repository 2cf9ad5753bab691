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

const PIDS = ['271', '272', '273', '274'];
/** The one that tells the truth. */
const TRUE_PID = '273';

/** The metrics page of a vLLM server with one or more engine cores. */
export function vllmMetrics(engines: readonly VirtualEngine[], options: VllmMetricsOptions): string {
  const page = new PrometheusText();
  const cores = engines.map((engine, at) => ({
    core: engine.core,
    gauges: engine.gauges(),
    engine: String(at),
    labels: options.names === 'v1' ? { engine: String(at), model_name: options.model } : { model_name: options.model },
  }));
  type Core = (typeof cores)[number];
  const family = (name: string, type: 'gauge' | 'counter', help: string, value: (core: Core) => number): void => {
    page.family(name, type, help);
    for (const core of cores) page.sample(name, core.labels, value(core));
  };
  family('vllm:num_requests_running', 'gauge', 'Number of requests in model execution batches.', ({ gauges }) => gauges.running);
  family('vllm:num_requests_waiting', 'gauge', 'Number of requests waiting to be processed.', ({ gauges }) => gauges.waiting);
  if (options.names === 'v0') family('vllm:num_requests_swapped', 'gauge', 'Number of requests swapped to CPU.', () => 0);
  else cores.forEach((core) => waitingByReason(page, core.labels, core.gauges.waiting));
  kvUsage(page, cores, options);
  for (const [name, help, value] of COUNTERS) family(name, 'counter', help, ({ gauges }) => value(gauges));
  page.family('vllm:request_success_total', 'counter', 'Count of successfully processed requests.');
  for (const { labels, gauges } of cores) {
    page.sample('vllm:request_success_total', { ...labels, finished_reason: 'stop' }, gauges.finished);
    page.sample('vllm:request_success_total', { ...labels, finished_reason: 'abort' }, gauges.aborted);
  }
  page.family('vllm:request_prefill_time_seconds', 'histogram', 'Histogram of time spent in PREFILL phase for request.');
  for (const { core, labels } of cores) page.histogram('vllm:request_prefill_time_seconds', labels, core.prefillSeconds);
  page.family('vllm:iteration_tokens_total', 'histogram', 'Histogram of number of tokens per engine_step.');
  for (const { core, labels } of cores) page.histogram('vllm:iteration_tokens_total', labels, core.stepTokens);
  cacheConfig(page, cores, options);
  page.family('process_start_time_seconds', 'gauge', 'Start time of the process since unix epoch in seconds.');
  page.sample('process_start_time_seconds', {}, options.startedAt);
  return page.toString();
}

type Gauges = ReturnType<VirtualEngine['gauges']>;

const COUNTERS: readonly (readonly [string, string, (gauges: Gauges) => number])[] = [
  ['vllm:prefix_cache_queries_total', 'Prefix cache queries, in terms of number of queried tokens.', (of) => of.prefixQueries],
  ['vllm:prefix_cache_hits_total', 'Prefix cache hits, in terms of number of cached tokens.', (of) => of.prefixHits],
  ['vllm:num_preemptions_total', 'Cumulative number of preemption from the engine.', (of) => of.preemptions],
  ['vllm:prompt_tokens_total', 'Number of prefill tokens processed.', (of) => of.promptTokens],
  ['vllm:prompt_tokens_cached_total', 'Number of cached prompt tokens (local + external).', (of) => of.cachedTokens],
  ['vllm:generation_tokens_total', 'Number of generation tokens processed.', (of) => of.generationTokens],
];

function waitingByReason(page: PrometheusText, labels: Labels, waiting: number): void {
  const name = 'vllm:num_requests_waiting_by_reason';
  page.family(name, 'gauge', 'Number of waiting requests by reason.');
  page.sample(name, { ...labels, reason: 'capacity' }, waiting).sample(name, { ...labels, reason: 'deferred' }, 0);
}

type Labelled = readonly { readonly engine: string; readonly labels: Labels; readonly gauges: Gauges; readonly core: VirtualEngine['core'] }[];

function kvUsage(page: PrometheusText, cores: Labelled, { names, pidSeries }: VllmMetricsOptions): void {
  const name = names === 'v1' ? 'vllm:kv_cache_usage_perc' : 'vllm:gpu_cache_usage_perc';
  page.family(name, 'gauge', 'KV-cache usage. 1 means 100 percent usage.');
  for (const { labels, gauges } of cores) {
    if (!pidSeries) page.sample(name, labels, gauges.kvUsage);
    else for (const pid of PIDS) page.sample(name, { ...labels, pid }, pid === TRUE_PID ? gauges.kvUsage : 0);
  }
}

function cacheConfig(page: PrometheusText, cores: Labelled, { names }: VllmMetricsOptions): void {
  page.family('vllm:cache_config_info', 'gauge', 'Information of the LLMEngine CacheConfig');
  for (const { core, engine } of cores) {
    const { blockTokens, blocks } = core.profile;
    const labels = { block_size: String(blockTokens), cache_dtype: 'auto', enable_prefix_caching: 'True' };
    const who: Labels = names === 'v1' ? { engine } : {};
    const sizes = { gpu_memory_utilization: '0.9', num_cpu_blocks: 'None', num_gpu_blocks: String(blocks) };
    page.sample('vllm:cache_config_info', { ...labels, ...who, ...sizes, num_gpu_blocks_override: 'None' }, 1);
  }
}
