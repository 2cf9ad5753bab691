import type { CanonicalRequest } from '../../common/canonical/canonical-request.js';

/**
 * The most tokens that a request can come to: its prompt, and for each answer the limit that it sets itself, or all
 * that its model holds beside the prompt. `promptTokens` is an estimate, so a request may come to a little more.
 */
export function mostTokens(request: CanonicalRequest, promptTokens: number, contextLength: number): number {
  const { operation, choices, maxOutputTokens } = request;
  if (operation !== 'chat' && operation !== 'completions') return promptTokens;
  // Answers to one prompt share it; of several prompts each has a part. The smaller part is the safe one to assume.
  const room = Math.max(1, contextLength - Math.floor(promptTokens / choices));
  return promptTokens + choices * Math.min(maxOutputTokens ?? room, room);
}
