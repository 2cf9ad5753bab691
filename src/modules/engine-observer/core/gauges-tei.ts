import type { GaugeTable } from './gauge-table.js';

/** Text Embeddings Inference: it says how many wait, not how many run. */
export const TEI_GAUGES: GaugeTable = {
  required: ['waiting'],
  expected: ['waiting'],
  running: [],
  waiting: [{ family: 'te_queue_size' }],
  waitingCapacity: [],
  kvUsage: [],
  kvCapacityTokens: [],
  counters: {},
};
