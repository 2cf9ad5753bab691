import type { EndpointLedger } from './endpoint-ledger.js';
import type { PoolPolicy, PoolRequest } from './pool-types.js';

const KV_BLOCK_TOKENS = 16;
/** So many milliseconds of prefill buy one ttl of patience more. */
const STRETCH_PER_MS = 5000;
const MOST_STRETCH = 6;

/** Milliseconds of prefill, as the slowest of the endpoints would take them; 0 where there is none. */
export function prefillEstimateMs(
  policy: PoolPolicy,
  endpoints: readonly EndpointLedger[],
  request: PoolRequest,
): number {
  if (!policy.generates) return 0;
  let longest = 0;
  for (const { rate } of endpoints)
    longest = Math.max(longest, rate.estimateMs(request.promptTokens - request.cachedTokens));
  return longest;
}

/** KV memory of prompt and output, in whole blocks. */
export function kvTokensOf(policy: PoolPolicy, { promptTokens, outputTokens, places }: PoolRequest): number {
  if (!policy.generates) return 0;
  return Math.ceil((promptTokens + outputTokens * places) / KV_BLOCK_TOKENS) * KV_BLOCK_TOKENS;
}

/** How much longer than others a request may wait: one with an expensive prompt, if it can be kept alive meanwhile. */
export const stretchOf = (request: PoolRequest, estimateMs: number): number =>
  request.stretchable ? Math.min(MOST_STRETCH, Math.max(1, estimateMs / STRETCH_PER_MS)) : 1;

/** The longest that it waits. */
export const patienceMs = (policy: PoolPolicy, request: PoolRequest, estimateMs: number): number =>
  (policy.bands[request.band]?.ttlMs ?? 0) * stretchOf(request, estimateMs);
