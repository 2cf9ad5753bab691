/** What a request cost, in tokens, as the engine counted it. */
export interface Usage {
  /** Prompt tokens, cached ones included. */
  readonly promptTokens: number;
  /** Output tokens, reasoning included. */
  readonly completionTokens: number;
  /** Prompt tokens that came from the engine's prefix cache. */
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
}

const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;

/** Reads an OpenAI `usage` object. Absent or senseless numbers count as 0; undefined where there is no object. */
export function usageFromOpenAi(value: unknown): Usage | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const usage = value as Record<string, Record<string, unknown> | number | null | undefined>;
  const detail = (name: string): Record<string, unknown> => {
    const found = usage[name];
    return typeof found === 'object' && found !== null ? found : {};
  };
  return {
    promptTokens: count(usage['prompt_tokens']),
    completionTokens: count(usage['completion_tokens']),
    cachedTokens: count(detail('prompt_tokens_details')['cached_tokens']),
    reasoningTokens: count(detail('completion_tokens_details')['reasoning_tokens']),
  };
}
