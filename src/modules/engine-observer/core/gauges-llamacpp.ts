import type { GaugeTable } from './gauge-table.js';

/** The llama.cpp server. Only old builds say how full the KV cache is. */
export const LLAMACPP_GAUGES: GaugeTable = {
  required: ['running', 'waiting'],
  expected: ['running', 'waiting'],
  running: [{ family: 'llamacpp:requests_processing' }],
  waiting: [{ family: 'llamacpp:requests_deferred' }],
  waitingCapacity: [],
  kvUsage: [{ family: 'llamacpp:kv_cache_usage_ratio' }],
  kvCapacityTokens: [],
  counters: {
    promptTokens: ['llamacpp:prompt_tokens_total'],
    cachedTokens: ['llamacpp:prompt_tokens_cached_total'],
    generationTokens: ['llamacpp:tokens_predicted_total'],
  },
  bootHeader: 'process-start-time-unix',
};
