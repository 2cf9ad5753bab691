import { invalidField, untranslatable } from '../body-problems.js';
import type { JsonObject } from '../json-value.js';
import { listAt, nameAt, objectAt, textAt } from '../fields.js';
import type { AssistantTurn } from '../answer-request.js';
import { Conversation } from '../conversation.js';
import { eachBlock, partsOf, textsOf, toolResultOf } from './parse-blocks.js';

/** The source text of a tool's input, by the positions of message and block. */
export type InputText = (message: number, block: number) => string | undefined;

/** Reads `messages`. Neighbours of one role become one turn; the system is heard as a user where it speaks midway. */
export function parseConversation(value: unknown, inputText: InputText): Conversation {
  const messages = listAt(value, 'messages');
  if (messages.length === 0) throw invalidField('messages', 'is empty');
  const reader = new TurnReader(inputText);
  messages.forEach((message, position) => reader.message(objectAt(message, `messages[${position}]`), position));
  return reader.conversation;
}

class TurnReader {
  readonly conversation = new Conversation();

  constructor(private readonly inputText: InputText) {}

  message(message: JsonObject, position: number): void {
    const path = `messages[${position}]`;
    const role = nameAt(message['role'], `${path}.role`);
    const content = message['content'];
    if (role === 'user') this.user(content, `${path}.content`);
    else if (role === 'assistant') this.assistant(content, `${path}.content`, position);
    else if (role === 'system') this.systemMessage(content, `${path}.content`);
    else throw invalidField(`${path}.role`, 'has to be "user", "assistant" or "system"');
  }

  private systemMessage(content: unknown, path: string): void {
    this.conversation.systemSays(textsOf(content, path));
  }

  private user(content: unknown, path: string): void {
    const turn = this.conversation.userTurn();
    eachBlock(content, path, (block, type, at) => {
      if (type === 'tool_result') turn.results.push(toolResultOf(block, at));
      else turn.parts.push(...partsOf(block, type, at));
    });
  }

  private assistant(content: unknown, path: string, position: number): void {
    const turn = this.conversation.assistantTurn();
    eachBlock(content, path, (block, type, at, blockPosition) => {
      switch (type) {
        case 'text':
          turn.text += textAt(block['text'], `${at}.text`);
          return;
        case 'thinking':
          turn.thinking += textAt(block['thinking'], `${at}.thinking`);
          return;
        case 'redacted_thinking':
          return;
        case 'tool_use':
          turn.calls.push(this.toolCall(block, at, position, blockPosition));
          return;
        default:
          throw untranslatable(`${at}.type`, type);
      }
    });
  }

  private toolCall(block: JsonObject, path: string, message: number, position: number): AssistantTurn['calls'][number] {
    objectAt(block['input'] ?? {}, `${path}.input`);
    const given = (block['input'] ?? undefined) === undefined ? undefined : this.inputText(message, position);
    return {
      id: nameAt(block['id'], `${path}.id`),
      name: nameAt(block['name'], `${path}.name`),
      input: given ?? '{}',
    };
  }
}
