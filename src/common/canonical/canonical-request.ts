/** What an LLM request asks an engine to do. A closed set: the configuration's `operations` has exactly these keys. */
export const OPERATIONS = ['chat', 'completions', 'embeddings', 'rerank'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** One inference request, whatever dialect it came in. A dialect builds it; nobody edits it. */
export interface CanonicalRequest {
  readonly operation: Operation;
  /** A configured model id. */
  readonly model: string;
  readonly stream: boolean;
  /** Tokens. undefined: the caller set no limit and the engine's own applies. */
  readonly maxOutputTokens: number | undefined;
  /** How many sequences the engine will run for it: `n` or `best_of`, times the prompts of a list. */
  readonly choices: number;
  /** Bytes of prompt, from which tokens are estimated; those of images left out. */
  readonly promptBytes: number;
  readonly images: number;
}
