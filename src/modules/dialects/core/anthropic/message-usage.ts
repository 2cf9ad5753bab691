import type { Usage } from '../../../../common/canonical/usage.js';
import { isObject } from '../json-value.js';
import type { MessageUsage } from './wire.js';

/** The dialect counts what came from the cache apart from the rest of the prompt. */
export function messageUsageOf({ promptTokens, cachedTokens, completionTokens }: Usage): MessageUsage {
  return {
    input_tokens: Math.max(0, promptTokens - cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
  };
}

/**
 * The same the other way, for an engine that speaks the dialect. What a later report leaves out stays as `before` says.
 * undefined: nothing has been reported.
 */
export function usageFromMessages(value: unknown, before?: Usage): Usage | undefined {
  if (!isObject(value)) return before;
  const count = (name: string): number | undefined => {
    const found = value[name];
    return typeof found === 'number' && Number.isFinite(found) && found >= 0 ? found : undefined;
  };
  const cached = count('cache_read_input_tokens') ?? before?.cachedTokens ?? 0;
  const input = count('input_tokens');
  const created = count('cache_creation_input_tokens') ?? 0;
  return {
    promptTokens: input === undefined ? (before?.promptTokens ?? 0) : input + cached + created,
    completionTokens: count('output_tokens') ?? before?.completionTokens ?? 0,
    cachedTokens: cached,
    reasoningTokens: before?.reasoningTokens ?? 0,
  };
}
