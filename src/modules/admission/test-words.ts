import type { TestName } from './core/pool-types.js';

/** What it means for a person that a test holds a request back. */
export const TEST_WORDS: Readonly<Record<TestName, string>> = {
  limit: 'all slots of the upstream are taken',
  ready: 'no endpoint is ready: down, or just started again',
  reserved: 'the endpoint is being kept free for a request that needs more room than is ever left at once',
  count: 'every endpoint has as many requests as the ceiling of this band allows',
  share: "other gateways do not tell what they have, and this gateway's share of the endpoint is taken",
  yield: 'the turn is that of a request that waits on another gateway or worker',
  claim: 'the place is counted as taken by another gateway or worker',
  max_inflight: "the engines' own gauges show as many requests as may be at them",
  kv_gauge: "the engines' own gauge shows no room in the KV memory",
  kv: 'the KV memory set aside for running requests leaves too little room',
  backlog: 'too much prefill is ahead of it',
  heavy_first: 'a large prompt lets the prefills that are under way end first',
  long: 'a very long prompt waits for its lane: one at a time, on one endpoint',
  heavy_shape: 'as many large prompts run as may run beside small ones',
  lane_drain: 'the endpoint is being kept free for a very long prompt',
  quiet: 'lower bands keep clear of endpoints that prefill for the highest band',
  strict_reserve: 'lower bands have one endpoint only while the highest band is in use',
};
