import type { GaugeTable } from './gauge-table.js';

/** vLLM, names of its V1 engine before those of V0. */
export const VLLM_GAUGES: GaugeTable = {
  schedulerLabel: 'engine',
  required: ['running', 'waiting'],
  expected: ['running', 'waiting', 'kvUsage'],
  running: [{ family: 'vllm:num_requests_running' }],
  waiting: [{ family: 'vllm:num_requests_waiting' }],
  // What waits for another reason (an adapter, a KV transfer) is not congestion.
  waitingCapacity: [{ family: 'vllm:num_requests_waiting_by_reason', label: ['reason', 'capacity'] }],
  kvUsage: [{ family: 'vllm:kv_cache_usage_perc' }, { family: 'vllm:gpu_cache_usage_perc' }],
  kvCapacityTokens: [{ family: 'vllm:cache_config_info', product: ['num_gpu_blocks', 'block_size'] }],
  counters: {
    preemptions: ['vllm:num_preemptions_total'],
    promptTokens: ['vllm:prompt_tokens_total'],
    cachedTokens: ['vllm:prompt_tokens_cached_total'],
    generationTokens: ['vllm:generation_tokens_total'],
    // The older pair counts blocks in some releases: good for a ratio, not for tokens.
    prefixQueries: ['vllm:prefix_cache_queries_total', 'vllm:gpu_prefix_cache_queries_total'],
    prefixHits: ['vllm:prefix_cache_hits_total', 'vllm:gpu_prefix_cache_hits_total'],
  },
};
