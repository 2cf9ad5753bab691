/** What a series is, wherever it is counted. The dashboard and the alerts are made of this list and of nothing else. */
export interface SeriesDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets. */
  readonly bounds?: readonly number[];
}

/** Seconds, from a rejection to an hour of generation. */
const DURATIONS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600] as const;
const WAITS = [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600] as const;
const OVERHEADS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1] as const;
const RATES = [1, 2.5, 5, 10, 20, 40, 80, 160, 320] as const;
const RATIOS = [0.25, 0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.5, 2, 4] as const;

const counter = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: 'counter', help, labels }) as const;
const gauge = <const L extends readonly string[]>(help: string, ...labels: L) =>
  ({ type: 'gauge', help, labels }) as const;
const histogram = <const L extends readonly string[]>(help: string, bounds: readonly number[], ...labels: L) =>
  ({ type: 'histogram', help, labels, bounds }) as const;

/** Every series of the gateway, by name. */
export const SERIES = {
  http_requests_total: counter(
    'Answered requests; 499: the client left',
    ...(['route', 'upstream', 'method', 'status'] as const),
  ),
  http_rejected_total: counter("Answers that are the gateway's own problem", 'route', 'reason'),
  http_request_duration_seconds: histogram('Arrival to last byte out', DURATIONS, 'route', 'upstream'),
  http_request_bytes_total: counter('Bytes of request bodies', 'route', 'upstream'),
  http_response_bytes_total: counter('Bytes of response bodies', 'route', 'upstream'),
  gateway_overhead_seconds: histogram('Time in the gateway itself', OVERHEADS, 'route'),
  client_disconnects_total: counter('Clients that left early', 'route', 'phase'),
  stream_heartbeats_total: counter('Heartbeats to silent streams', 'upstream', 'dialect'),

  upstream_up: gauge('1 while the last probe or request worked', 'upstream'),
  upstream_requests_total: counter('Calls of upstreams by outcome', 'upstream', 'outcome'),
  upstream_in_flight: gauge('Requests at the upstream from this gateway', 'upstream'),
  slots_in_use: gauge('Slots taken', 'upstream'),
  slots_limit: gauge('Slots there are', 'upstream'),
  pool_saturation: gauge('How full the endpoint is that is least full', 'upstream'),

  admission_queue_depth: gauge('Requests that wait', 'upstream', 'band'),
  admission_wait_seconds: histogram('Wait of those admitted', WAITS, 'upstream', 'band'),
  admission_parked_total: counter('Requests that had to wait', 'upstream', 'band'),
  admission_rejected_total: counter('Requests that got no slot', 'upstream', 'band', 'reason'),
  admission_decisions_total: counter('Heads held back, by the test that failed', 'upstream', 'test'),
  admission_prefill_backlog_seconds: gauge('Prefill ahead of a newcomer', 'upstream', 'endpoint'),
  admission_kv_reserved_tokens: gauge('KV memory set aside', 'upstream', 'endpoint'),
  admission_estimate_ratio: histogram('Estimated to true prompt tokens', RATIOS, 'upstream', 'model'),
  admission_tenant_tokens_total: counter('Service received, in tokens', ...(['upstream', 'band', 'tenant'] as const)),
  admission_store_degraded: gauge('1: the shared store or the peers are out, shares are kept instead'),

  engine_requests_running: gauge('Requests in the batch', 'upstream', 'endpoint'),
  engine_requests_waiting: gauge('Requests queued in the engine', 'upstream', 'endpoint'),
  engine_kv_usage_ratio: gauge('KV memory in use', 'upstream', 'endpoint'),
  engine_batch_capacity: gauge('Sequences that run at once', 'upstream', 'endpoint'),
  engine_prefill_tokens_per_second: gauge('Learned, for prompts of 8000 tokens', 'upstream', 'endpoint'),
  engine_scrape_faults_total: counter('Failed polls and skipped lines', 'upstream', 'reason'),
  engine_state_stale_total: counter('Turns to stale', 'upstream'),
  observer_degraded: gauge('1: a gauge the gate needs is missing or unreadable', 'upstream'),
  vllm_requests_running: gauge('Requests in the batch, over all endpoints', 'model'),
  vllm_kv_usage_perc: gauge('KV memory in use, of the fullest endpoint', 'model'),

  llm_ttft_seconds: histogram('Arrival to first content', DURATIONS, 'upstream', 'model', 'dialect'),
  llm_output_tokens_per_second: histogram('Output tokens a second', RATES, 'upstream', 'model'),
  llm_tokens_total: counter("Tokens by the engine's count", 'upstream', 'model', 'kind'),

  auth_rejected_total: counter('Requests without a right to what they ask', 'reason'),
  jwks_refresh_total: counter('Fetches of key sets by outcome', 'outcome'),
  budget_rejected_total: counter('Requests refused, by what there was too little of', 'kind'),
  budget_store_up: gauge('0: limits are enforced per replica'),
} as const satisfies Readonly<Record<string, SeriesDefinition>>;

/** Of the series that prom-client collects from Node, those that somebody looks at. */
export const NODE_SERIES = {
  nodejs_eventloop_lag_p99_seconds: gauge('99 of 100 turns of the event loop were late by less'),
  nodejs_eventloop_lag_p50_seconds: gauge('Half of the turns of the event loop were late by less'),
  nodejs_heap_size_used_bytes: gauge('Heap in use'),
  process_resident_memory_bytes: gauge('Resident memory'),
  process_cpu_seconds_total: counter('CPU time, user and system'),
  process_start_time_seconds: gauge('Start of the process, in seconds since 1970'),
  process_open_fds: gauge('Open descriptors'),
  process_max_fds: gauge('Descriptors that may be open'),
} as const satisfies Readonly<Record<string, SeriesDefinition>>;

export type SeriesName = keyof typeof SERIES;
type NamesOf<Type> = { [N in SeriesName]: (typeof SERIES)[N]['type'] extends Type ? N : never }[SeriesName];
export type CounterName = NamesOf<'counter'>;
export type GaugeName = NamesOf<'gauge'>;
export type HistogramName = NamesOf<'histogram'>;
