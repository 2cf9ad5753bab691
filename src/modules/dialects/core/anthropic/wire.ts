/** The dialect's JSON, as far as the gateway writes it. */

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

export interface ThinkingBlock {
  readonly type: 'thinking';
  readonly thinking: string;
  readonly signature: string;
}

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal';

/** Tokens. `input_tokens` are those that did not come from a cache. */
export interface MessageUsage {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
}

export interface AnthropicError {
  readonly type: string;
  readonly message: string;
  /** What official clients read to tell one refusal from another. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Clients discard thinking that is not signed. The engines sign nothing, and the gateway checks nothing. */
export const SIGNATURE = 'dW5zaWduZWQ=';

/** An id for a tool call that came without one: the same for the same place in the same answer, and for no other. */
export const inventedId = (seed: string, position: number): string => `toolu_${seed}_${position}`;
