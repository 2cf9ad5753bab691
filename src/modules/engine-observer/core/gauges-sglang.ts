import type { GaugeTable } from './gauge-table.js';

/** SGLang. Its tensor and pipeline ranks report the same requests; only data-parallel ranks have their own. */
export const SGLANG_GAUGES: GaugeTable = {
  schedulerLabel: 'dp_rank',
  required: ['running', 'waiting'],
  expected: ['running', 'waiting', 'kvUsage'],
  running: [{ family: 'sglang:num_running_reqs' }],
  waiting: [
    {
      family: 'sglang:num_queue_reqs',
      plus: [
        'sglang:num_grammar_queue_reqs',
        'sglang:num_prefill_prealloc_queue_reqs',
        'sglang:num_prefill_bootstrap_queue_reqs',
        'sglang:num_prefill_inflight_queue_reqs',
        'sglang:num_decode_prealloc_queue_reqs',
        'sglang:num_decode_transfer_queue_reqs',
      ],
    },
  ],
  waitingCapacity: [],
  kvUsage: [
    { family: 'sglang:token_usage' },
    { family: 'sglang:num_used_tokens', over: 'sglang:max_total_num_tokens' },
  ],
  kvCapacityTokens: [
    { family: 'sglang:max_total_num_tokens' },
    { family: 'sglang:cache_config_info', product: ['num_pages', 'page_size'] },
  ],
  counters: {
    promptTokens: ['sglang:prompt_tokens_total'],
    cachedTokens: ['sglang:cached_tokens_total'],
    generationTokens: ['sglang:generation_tokens_total'],
  },
};
