import { isObject, listOr, objectOr, parseJson, type JsonObject } from './json.js';
import type { SseFrame } from './sse-frames.js';

/** The dialects whose answers can be streams. */
export type StreamDialect = 'anthropic' | 'openai-chat' | 'openai-completions' | 'openai-responses';

/** What the events of a stream add up to, as a lenient client would put them together. Never throws on a bad stream. */
export function foldStream(dialect: StreamDialect, frames: readonly SseFrame[]): JsonObject {
  const events = frames.map(({ data }) => data).filter(isObject);
  switch (dialect) {
    case 'anthropic':
      return foldAnthropic(events);
    case 'openai-chat':
    case 'openai-completions':
      return foldChunks(events);
    case 'openai-responses':
      return objectOr(events.findLast((event) => isObject(event['response']))?.['response']);
  }
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const index = (value: unknown): number => (typeof value === 'number' ? value : 0);

interface OpenBlock {
  readonly block: JsonObject;
  /** The pieces of a tool's input, put together; undefined where none came. */
  json: string;
}

function foldAnthropic(events: readonly JsonObject[]): JsonObject {
  const message: JsonObject = {};
  const blocks = new Map<number, OpenBlock>();
  for (const event of events) foldAnthropicEvent(event, message, blocks);
  const content = [...blocks.entries()].sort(([a], [b]) => a - b).map(([, open]) => closedBlock(open));
  return { ...message, content };
}

function foldAnthropicEvent(event: JsonObject, message: JsonObject, blocks: Map<number, OpenBlock>): void {
  switch (event['type']) {
    case 'message_start':
      Object.assign(message, structuredClone(objectOr(event['message'])));
      return;
    case 'content_block_start':
      blocks.set(index(event['index']), { block: { ...objectOr(event['content_block']) }, json: '' });
      return;
    case 'content_block_delta': {
      const open = blocks.get(index(event['index']));
      if (open !== undefined) applyDelta(open, objectOr(event['delta']));
      return;
    }
    case 'message_delta':
      applyMessageDelta(message, event);
      return;
    case 'error':
      message['error'] = event['error'];
      return;
    default:
  }
}

function applyDelta(open: OpenBlock, delta: JsonObject): void {
  const { block } = open;
  if (delta['type'] === 'text_delta') block['text'] = text(block['text']) + text(delta['text']);
  if (delta['type'] === 'thinking_delta') block['thinking'] = text(block['thinking']) + text(delta['thinking']);
  if (delta['type'] === 'signature_delta') block['signature'] = delta['signature'];
  if (delta['type'] === 'input_json_delta') open.json += text(delta['partial_json']);
}

function closedBlock({ block, json }: OpenBlock): JsonObject {
  if (!('input' in block)) return block;
  return { ...block, input: json === '' ? {} : (parseJson(json) ?? json) };
}

function applyMessageDelta(message: JsonObject, event: JsonObject): void {
  const delta = objectOr(event['delta']);
  for (const name of ['stop_reason', 'stop_sequence']) if (name in delta) message[name] = delta[name];
  const numbers = Object.entries(objectOr(event['usage'])).filter(([, value]) => value !== null);
  message['usage'] = { ...objectOr(message['usage']), ...Object.fromEntries(numbers) };
}

interface FoldedChoice {
  index: number;
  message: JsonObject;
  text?: string;
  finish_reason: unknown;
}

function foldChunks(events: readonly JsonObject[]): JsonObject {
  const choices = new Map<number, FoldedChoice>();
  const folded: JsonObject = {};
  for (const event of events) {
    if (isObject(event['usage'])) folded['usage'] = event['usage'];
    if ('error' in event) folded['error'] = event['error'];
    for (const part of listOr(event['choices'])) foldChoice(choices, objectOr(part));
  }
  return { choices: [...choices.values()].sort((a, b) => a.index - b.index), ...folded };
}

function foldChoice(choices: Map<number, FoldedChoice>, part: JsonObject): void {
  const at = index(part['index']);
  const choice = choices.get(at) ?? { index: at, message: { content: null }, finish_reason: null };
  choices.set(at, choice);
  if (typeof part['text'] === 'string') choice.text = (choice.text ?? '') + part['text'];
  choice.finish_reason = part['finish_reason'] ?? choice.finish_reason;
  const { message } = choice;
  const delta = objectOr(part['delta']);
  if (typeof delta['role'] === 'string') message['role'] = delta['role'];
  const content = text(message['content']) + text(delta['content']);
  message['content'] = content === '' ? null : content;
  for (const fragment of listOr(delta['tool_calls'])) foldToolCall(message, objectOr(fragment));
}

function foldToolCall(message: JsonObject, fragment: JsonObject): void {
  const calls = [...listOr(message['tool_calls'])];
  const at = index(fragment['index']);
  const call = objectOr(calls[at]);
  const before = objectOr(call['function']);
  const after = objectOr(fragment['function']);
  const name = text(after['name']) || before['name'];
  calls[at] = {
    ...call,
    ...(fragment['id'] ? { id: fragment['id'] } : {}),
    ...(fragment['type'] ? { type: fragment['type'] } : {}),
    function: {
      ...(name === undefined ? {} : { name }),
      arguments: text(before['arguments']) + text(after['arguments']),
    },
  };
  message['tool_calls'] = calls;
}
