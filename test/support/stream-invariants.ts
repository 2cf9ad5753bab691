import { checkAnthropicStream } from './invariants/anthropic.js';
import { BrokenStream, type StreamOutcome } from './invariants/must.js';
import { checkOpenAiChatStream, checkOpenAiCompletionsStream } from './invariants/openai.js';
import { checkResponsesStream } from './invariants/responses.js';
import type { SseFrame } from './sse-frames.js';

/** The rule sets, by the names that the conformance cases use. */
export type StreamKind = 'anthropic' | 'openai-chat' | 'openai-completions' | 'responses';

const CHECKS: Readonly<Record<StreamKind, (frames: readonly SseFrame[], outcome: StreamOutcome) => void>> = {
  anthropic: checkAnthropicStream,
  'openai-chat': checkOpenAiChatStream,
  'openai-completions': checkOpenAiCompletionsStream,
  responses: checkResponsesStream,
};

/** The first rule of the dialect that the stream breaks, or undefined where it keeps them all. */
export function brokenInvariant(
  kind: StreamKind,
  frames: readonly SseFrame[],
  outcome?: 'complete' | 'error',
): string | undefined {
  try {
    CHECKS[kind](frames, outcome);
    return undefined;
  } catch (error) {
    if (error instanceof BrokenStream) return error.message;
    throw error;
  }
}
