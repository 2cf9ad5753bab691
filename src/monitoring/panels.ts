import { lines, now, pace, panel, RANGE, spread, type Row } from './panel.js';
import { chosen, mean, rate } from './promql.js';

const TRAFFIC: Row = {
  title: 'Traffic',
  panels: [
    panel('Requests by route', 'reqps', 'Every answered request.', lines(pace('http_requests_total').sum('route'))),
    panel('Requests by status', 'reqps', '499: the client left.', lines(pace('http_requests_total').sum('status'))),
    panel(
      'Errors by reason',
      'reqps',
      "Answers that are the gateway's own problem.",
      lines(pace('http_rejected_total').sum('reason')),
    ),
    panel('Duration', 's', 'Arrival to last byte out.', ...spread('http_request_duration_seconds', 'route')),
    panel(
      'Bandwidth',
      'Bps',
      'Bytes of bodies.',
      lines(pace('http_request_bytes_total').sum(), 'in'),
      lines(pace('http_response_bytes_total').sum(), 'out'),
    ),
    panel(
      'Clients that left',
      'reqps',
      'By what their request was doing.',
      lines(pace('client_disconnects_total').sum('phase')),
    ),
  ],
};

const MODELS: Row = {
  title: 'Models',
  panels: [
    panel(
      'First token',
      's',
      'Arrival to first content; what is not streamed comes all at once.',
      ...spread('llm_ttft_seconds', 'model'),
    ),
    panel(
      'Output by request',
      'none',
      'Tokens a second that one request gets.',
      ...spread('llm_output_tokens_per_second', 'model'),
    ),
    panel('Tokens', 'none', 'Tokens a second, all together.', lines(pace('llm_tokens_total').sum('model', 'kind'))),
    panel(
      'Heartbeats',
      'none',
      'A second, to streams that are silent.',
      lines(pace('stream_heartbeats_total').sum('upstream', 'dialect')),
    ),
  ],
};

const UPSTREAMS: Row = {
  title: 'Upstreams',
  panels: [
    panel('Up', 'none', '1 while the last probe or request worked.', lines(now('upstream_up').max('upstream'))),
    panel(
      'Calls by outcome',
      'reqps',
      'As the gateway saw them end.',
      lines(pace('upstream_requests_total').sum('upstream', 'outcome')),
    ),
    panel(
      'Slots',
      'short',
      'In use, over all gateways, and how many there are.',
      lines(now('slots_in_use').sum('upstream'), 'in use'),
      lines(now('slots_limit').max('upstream'), 'limit'),
      lines(now('upstream_in_flight').sum('upstream'), 'requests'),
    ),
    panel(
      'Saturation',
      'percentunit',
      "Of the endpoint that is least full; bands' ceilings are held against it.",
      lines(now('pool_saturation').max('upstream')),
    ),
  ],
};

const ADMISSION: Row = {
  title: 'Admission',
  panels: [
    panel('Queue', 'short', 'Waiting now.', lines(now('admission_queue_depth').sum('upstream', 'band'))),
    panel('Wait', 's', 'Of those admitted.', ...spread('admission_wait_seconds', 'upstream', 'band')),
    panel(
      'Had to wait',
      'reqps',
      'And got a slot or not.',
      lines(pace('admission_parked_total').sum('upstream', 'band')),
    ),
    panel(
      'Got no slot',
      'reqps',
      'By reason.',
      lines(pace('admission_rejected_total').sum('upstream', 'band', 'reason')),
    ),
    panel(
      'Why heads are held back',
      'none',
      'By the test that failed.',
      lines(pace('admission_decisions_total').sum('upstream', 'test')),
    ),
    panel(
      'Prefill backlog',
      's',
      'Ahead of a newcomer, as the ledger sees it.',
      lines(now('admission_prefill_backlog_seconds').max('upstream', 'endpoint')),
    ),
    panel('KV set aside', 'short', 'Tokens.', lines(now('admission_kv_reserved_tokens').sum('upstream', 'endpoint'))),
    panel(
      'Estimate to truth',
      'none',
      'Prompt tokens; 1 is exact.',
      lines(
        mean('admission_estimate_ratio', { range: RANGE, by: ['model'], where: chosen('admission_estimate_ratio') }),
      ),
    ),
    panel(
      'Service by tenant',
      'none',
      'Tokens a second.',
      lines(pace('admission_tenant_tokens_total').sum('band', 'tenant')),
    ),
    panel(
      'Shares instead of the store',
      'none',
      '1: degraded.',
      lines(now('admission_store_degraded').max('instance')),
    ),
  ],
};

const ENGINES: Row = {
  title: 'Engines',
  panels: [
    panel(
      'Running',
      'short',
      "In the batch, by the engine's gauge, and how many fit.",
      lines(now('engine_requests_running').max('upstream', 'endpoint'), 'running'),
      lines(now('engine_batch_capacity').max('upstream', 'endpoint'), 'fit'),
    ),
    panel(
      'Waiting in the engine',
      'short',
      'Beyond what the gateway holds back.',
      lines(now('engine_requests_waiting').max('upstream', 'endpoint')),
    ),
    panel('KV memory', 'percentunit', 'In use.', lines(now('engine_kv_usage_ratio').max('upstream', 'endpoint'))),
    panel(
      'Prefill',
      'none',
      'Tokens a second, learned for prompts of 8000.',
      lines(now('engine_prefill_tokens_per_second').max('upstream', 'endpoint')),
    ),
    panel(
      'Polls that failed',
      'none',
      'A second, by what was wrong.',
      lines(pace('engine_scrape_faults_total').sum('upstream', 'reason')),
    ),
    panel(
      'Blind',
      'none',
      'degraded: a gauge is missing. stale: turns a second.',
      lines(now('observer_degraded').max('upstream'), 'degraded'),
      lines(pace('engine_state_stale_total').sum('upstream'), 'stale'),
    ),
    panel(
      "Under vLLM's names",
      'none',
      'By model.',
      lines(now('vllm_requests_running').max('model'), 'running'),
      lines(now('vllm_kv_usage_perc').max('model'), 'kv'),
    ),
  ],
};

const ACCESS: Row = {
  title: 'Identity and budgets',
  panels: [
    panel('Tokens refused', 'reqps', 'By reason.', lines(pace('auth_rejected_total').sum('reason'))),
    panel('Fetches of keys', 'none', 'A second, by outcome.', lines(pace('jwks_refresh_total').sum('outcome'))),
    panel('Budgets spent', 'reqps', 'Requests refused.', lines(pace('budget_rejected_total').sum('kind'))),
    panel('Store of the budgets', 'none', '0: each gateway for itself.', lines(now('budget_store_up').min('instance'))),
  ],
};

const PROCESS: Row = {
  title: 'Gateways',
  panels: [
    panel('Own time', 's', 'Queueing and upstream left out.', ...spread('gateway_overhead_seconds', 'route')),
    panel(
      'Event loop lag',
      's',
      'The 99th percentile.',
      lines(now('nodejs_eventloop_lag_p99_seconds').max('instance')),
    ),
    panel(
      'Memory',
      'bytes',
      'Resident, and the heap in use.',
      lines(now('process_resident_memory_bytes').max('instance'), 'resident'),
      lines(now('nodejs_heap_size_used_bytes').max('instance'), 'heap'),
    ),
    panel(
      'CPU',
      'percentunit',
      '100 %: one core.',
      lines(rate('process_cpu_seconds_total', RANGE, chosen('process_cpu_seconds_total')).sum('instance')),
    ),
    panel(
      'Descriptors',
      'percentunit',
      'Open, of those that may be.',
      lines(now('process_open_fds').max('instance').over(now('process_max_fds').max('instance'))),
    ),
    panel(
      'Started',
      's',
      'Seconds since 1970: a step is a restart.',
      lines(now('process_start_time_seconds').max('instance')),
    ),
  ],
};

/** What the dashboard shows, from what callers notice down to the process. */
export const ROWS: readonly Row[] = [TRAFFIC, MODELS, UPSTREAMS, ADMISSION, ENGINES, ACCESS, PROCESS];
