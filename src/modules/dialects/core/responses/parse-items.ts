import { invalidField, untranslatable } from '../body-problems.js';
import { inputTextOf } from '../call-fragment.js';
import { Conversation } from '../conversation.js';
import { nameAt, objectAt, textAt } from '../fields.js';
import type { JsonObject } from '../json-value.js';
import { partsOf, textsOf } from './parse-content.js';

/** What a service noted of its own tools; they are left out, as the tools are. */
const HOSTED_CALLS: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_list_tools',
]);

/** Reads `input`: a text of the user, or items. Throws `invalid-request` with the path of what cannot be passed on. */
export function parseItems(input: unknown): Conversation {
  const conversation = new Conversation();
  if (input === undefined || input === null) throw invalidField('input', 'is missing');
  if (typeof input === 'string') {
    conversation.userTurn().parts.push({ type: 'text', text: input });
    return conversation;
  }
  if (!Array.isArray(input)) throw invalidField('input', 'has to be a string or a list of items');
  if (input.length === 0) throw invalidField('input', 'is empty');
  input.forEach((item: unknown, position) => {
    const path = `input[${position}]`;
    readItem(objectAt(item, path), path, conversation);
  });
  return conversation;
}

function readItem(item: JsonObject, path: string, conversation: Conversation): void {
  const type = item['type'] ?? (item['role'] === undefined ? undefined : 'message');
  switch (type) {
    case 'message':
      return readMessage(item, path, conversation);
    case 'reasoning':
      return readReasoning(item, path, conversation);
    case 'function_call':
      return readCall(item, inputTextOf(textAt(item['arguments'], `${path}.arguments`)), path, conversation);
    case 'custom_tool_call':
      return readCall(item, JSON.stringify({ input: textAt(item['input'], `${path}.input`) }), path, conversation);
    case 'function_call_output':
    case 'custom_tool_call_output':
      return readOutput(item, path, conversation);
    case 'item_reference':
      throw invalidField(path, 'refers to a stored item, and this gateway keeps none: send the item itself');
    default:
      leaveOut(nameAt(type, `${path}.type`), path);
  }
}

function leaveOut(type: string, path: string): void {
  if (!HOSTED_CALLS.has(type)) throw untranslatable(`${path}.type`, type);
}

function readMessage({ role, content }: JsonObject, path: string, conversation: Conversation): void {
  const at = `${path}.content`;
  switch (nameAt(role, `${path}.role`)) {
    case 'user':
      conversation.userTurn().parts.push(...partsOf(content, at));
      return;
    case 'assistant':
      return readAnswer(textsOf(content, at).join(''), conversation);
    case 'developer':
    case 'system':
      conversation.systemSays(textsOf(content, at));
      return;
    default:
      throw invalidField(`${path}.role`, 'has to be "user", "assistant", "developer" or "system"');
  }
}

/** Several messages of one turn are one text. */
function readAnswer(text: string, conversation: Conversation): void {
  if (text === '') return;
  const turn = conversation.assistantTurn();
  turn.text += turn.text === '' ? text : `\n${text}`;
}

/** What is encrypted or summed up are other models' thoughts, or not their words. */
function readReasoning({ content }: JsonObject, path: string, conversation: Conversation): void {
  if (content === undefined || content === null) return;
  const text = textsOf(content, `${path}.content`).join('\n');
  if (text !== '') conversation.assistantTurn().thinking += text;
}

function readCall(item: JsonObject, input: string, path: string, conversation: Conversation): void {
  conversation.assistantTurn().calls.push({
    id: nameAt(item['call_id'], `${path}.call_id`),
    name: nameAt(item['name'], `${path}.name`),
    input,
  });
}

function readOutput(item: JsonObject, path: string, conversation: Conversation): void {
  conversation.userTurn().results.push({
    callId: nameAt(item['call_id'], `${path}.call_id`),
    parts: partsOf(item['output'], `${path}.output`),
    isError: false,
  });
}
