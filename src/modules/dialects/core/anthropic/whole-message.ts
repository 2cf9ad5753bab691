import type { Usage } from '../../../../common/canonical/usage.js';
import { isObject, isText, type JsonObject } from '../json-value.js';
import { fragmentsOf, inputTextOf } from '../call-fragment.js';
import { contentText } from '../content-text.js';
import { messageUsageOf } from './message-usage.js';
import type { ThinkingMode } from '../answer-request.js';
import { stopMembers } from './stop-reason.js';
import { inventedId, type MessageUsage, SIGNATURE, type TextBlock, type ThinkingBlock } from './wire.js';

/** What the answer has to know of its request. */
export interface MessageTerms {
  readonly id: string;
  readonly model: string;
  readonly thinking: ThinkingMode;
  readonly estimatedInputTokens: number;
}

/** A whole chat answer as a message, in JSON. `choice` is the answer's first; `source` the JSON text of them all. */
export function messageJson(choice: JsonObject, source: string, usage: Usage | undefined, terms: MessageTerms): string {
  const message = isObject(choice['message']) ? choice['message'] : {};
  const content = [...thinkingBlocks(message, terms.thinking), ...textBlocks(message)];
  const blocks = content.map((block) => JSON.stringify(block));
  const calls = toolBlocks(message, source, terms.id);
  const stop = stopMembers({
    reason: isText(choice['finish_reason']) ? choice['finish_reason'] : undefined,
    matched: choice['stop_reason'],
    refused: isText(message['refusal']),
    called: calls.length > 0,
  });
  const head = JSON.stringify({ id: terms.id, type: 'message', role: 'assistant', model: terms.model });
  const tail = JSON.stringify({ ...stop, usage: usageOf(usage, terms) });
  return `${head.slice(0, -1)},"content":[${[...blocks, ...calls].join(',')}],${tail.slice(1)}`;
}

function thinkingBlocks(message: JsonObject, mode: ThinkingMode): readonly ThinkingBlock[] {
  const { reasoning_content: named, reasoning: renamed } = message;
  const thinking = isText(named) ? named : renamed;
  if (mode === 'off' || !isText(thinking)) return [];
  return [{ type: 'thinking', thinking: mode === 'omitted' ? '' : thinking, signature: SIGNATURE }];
}

/** An empty text block would be refused when the client sends it back. */
function textBlocks({ content, refusal }: JsonObject): readonly TextBlock[] {
  const texts = [contentText(content), refusal].filter(isText);
  return texts.length === 0 ? [] : [{ type: 'text', text: texts.join('') }];
}

/** JSON text of each call: what the engine wrote as its arguments keeps its digits. */
function toolBlocks(message: JsonObject, source: string, seed: string): string[] {
  const calls: readonly unknown[] = Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  const fragments = fragmentsOf(calls, source, ['choices', 0, 'message', 'tool_calls'], { whole: true });
  return fragments.map(({ id: given, name, arguments: input }, at) => {
    // No two calls may have the same id: clients tell their results apart by it.
    const isOwn = given !== undefined && fragments.findIndex(({ id }) => id === given) === at;
    const id = isOwn ? given : inventedId(seed, at);
    const head = JSON.stringify({ type: 'tool_use', id, name: name ?? '' });
    return `${head.slice(0, -1)},"input":${inputTextOf(input)}}`;
  });
}

function usageOf(usage: Usage | undefined, { estimatedInputTokens }: MessageTerms): MessageUsage {
  if (usage !== undefined) return messageUsageOf(usage);
  const none = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  return { input_tokens: estimatedInputTokens, ...none, output_tokens: 0 };
}
