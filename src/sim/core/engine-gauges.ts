/** What happened by the end of a step. `aborted`, `finished` and `lost` end a request; each request has one of them. */
export type EngineEvent =
  | { readonly kind: 'first'; readonly id: string; readonly cachedTokens: number }
  | { readonly kind: 'tokens'; readonly id: string; readonly count: number }
  | { readonly kind: 'finished' | 'aborted' | 'lost'; readonly id: string };

export interface EngineGauges {
  readonly running: number;
  readonly waiting: number;
  /** Prompt tokens of those that wait. */
  readonly waitingTokens: number;
  readonly usedBlocks: number;
  /** 0 to 1; blocks kept for reuse alone count as free. */
  readonly kvUsage: number;
  /** The most that have run in one step since the start. */
  readonly peakRunning: number;
  /** Counters. `promptTokens` moves by the whole prompt when its first token comes out. */
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly generationTokens: number;
  readonly prefixQueries: number;
  readonly prefixHits: number;
  readonly preemptions: number;
  readonly submitted: number;
  readonly finished: number;
  readonly aborted: number;
}

/** The counters of an engine that has just started. */
export const NO_COUNTS = {
  peakRunning: 0,
  promptTokens: 0,
  cachedTokens: 0,
  generationTokens: 0,
  prefixQueries: 0,
  prefixHits: 0,
  preemptions: 0,
  submitted: 0,
  finished: 0,
  aborted: 0,
};
