import type { Usage } from '../../../common/canonical/usage.js';

/** How a call of an engine has ended. */
export interface CallEnd {
  /** As far as the engine has told. */
  readonly usage: Usage | undefined;
  /** The engine has begun to answer. */
  readonly answered: boolean;
  /** Its client has left. */
  readonly cancelled: boolean;
  /** All that was asked for has been handed over. */
  readonly complete: boolean;
  readonly contentSeen: boolean;
  readonly estimatedPromptTokens: number;
  /** Estimated from what was handed to the client. */
  readonly deliveredTokens: number;
}

export interface SpentTokens {
  readonly tokens: number;
  readonly estimated: boolean;
}

/**
 * What a call came to: the engine's own count of an answer that is complete. Otherwise its prompt, and of the output the
 * larger of what the engine has told so far and what was delivered. An engine that failed before it gave anything cost
 * nothing. undefined: it never answered, and nobody asked it to stop; then nothing has happened that counts.
 */
export function spentTokens(end: CallEnd): SpentTokens | undefined {
  if (!end.answered && !end.cancelled) return undefined;
  const { usage, complete } = end;
  if (!complete && !end.contentSeen && !end.cancelled) return { tokens: 0, estimated: false };
  if (usage !== undefined && complete) return { tokens: usage.promptTokens + usage.completionTokens, estimated: false };
  const prompt = usage?.promptTokens ?? end.estimatedPromptTokens;
  const output = Math.max(usage?.completionTokens ?? 0, end.deliveredTokens);
  return { tokens: Math.ceil(prompt + output), estimated: true };
}
