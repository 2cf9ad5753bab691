import type { Usage } from '../../../../common/canonical/usage.js';
import { isObject } from '../json-value.js';

/** The dialect's usage, in JSON. */
export function usageJson({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage): string {
  return JSON.stringify({
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  });
}

/** The same the other way, from an engine that speaks the dialect; undefined: it has not counted. */
export function usageFromResponse(response: unknown): Usage | undefined {
  const usage = isObject(response) ? response['usage'] : undefined;
  if (!isObject(usage)) return undefined;
  return {
    promptTokens: count(usage['input_tokens']),
    completionTokens: count(usage['output_tokens']),
    cachedTokens: count(memberOf(usage['input_tokens_details'], 'cached_tokens')),
    reasoningTokens: count(memberOf(usage['output_tokens_details'], 'reasoning_tokens')),
  };
}

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
