import type { AssistantTurn, Part, ToolResult, Turn, UserTurn } from './answer-request.js';

/** A message as chat completions have it. */
export type ChatMessage = Readonly<Record<string, unknown>>;

/** The conversation in the other dialect's words. Only the first message is ever the system's. */
export function chatMessages(system: readonly string[], turns: readonly Turn[]): ChatMessage[] {
  const messages: ChatMessage[] = [];
  if (system.length > 0) messages.push({ role: 'system', content: system.join('\n\n') });
  for (const turn of turns) {
    if (turn.role === 'assistant') messages.push(assistantMessage(turn));
    else messages.push(...userMessages(turn));
  }
  return messages;
}

/** Some engines refuse a content of null, others a message without any. */
function assistantMessage({ thinking, text, calls }: AssistantTurn): ChatMessage {
  const toolCalls = calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  }));
  return {
    role: 'assistant',
    ...(text === '' && calls.length > 0 ? {} : { content: text }),
    ...(thinking === '' ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

/** Results stand directly behind the calls; what else the turn holds comes after them. */
function userMessages({ results, parts }: UserTurn): ChatMessage[] {
  const shown = [...results.flatMap(imagesOf), ...parts];
  const messages = results.map(toolMessage);
  if (shown.length > 0 || results.length === 0) messages.push({ role: 'user', content: contentOf(shown) });
  return messages;
}

function toolMessage({ callId, parts, isError }: ToolResult): ChatMessage {
  const text = textOf(parts);
  return { role: 'tool', tool_call_id: callId, content: isError ? `Error: ${text}` : text };
}

/** No engine takes images from a tool, so the user shows them. */
function imagesOf({ callId, parts }: ToolResult): Part[] {
  const images = parts.filter((part) => part.type === 'image');
  return images.length === 0 ? [] : [{ type: 'text', text: `[images of tool result ${callId}]` }, ...images];
}

/** A text where there is nothing but text: not every chat template takes a list. */
function contentOf(parts: readonly Part[]): unknown {
  if (parts.every((part) => part.type === 'text')) return textOf(parts);
  return parts.map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text } : { type: 'image_url', image_url: { url: part.url } },
  );
}

const textOf = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
