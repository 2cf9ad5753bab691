import type { CanonicalRequest } from '../../../../common/canonical/canonical-request.js';
import type { Model, RoutingTable } from '../../../../common/config/routing-table.js';
import { findModel } from '../find-model.js';
import { promptSize, type PromptSize } from '../prompt-size.js';
import { scanBody } from '../scan-request.js';
import { chatRequest, tokenizeRequest } from '../chat-request.js';
import type { ThinkingMode } from '../answer-request.js';
import { nativeSize } from './native-size.js';
import { parseHead, parseMessages } from './parse-request.js';

/** A request that has been understood: what it means, and what the engine is sent. */
export interface PreparedMessages {
  readonly request: CanonicalRequest;
  readonly model: Model;
  readonly body: Buffer;
  /** The engine speaks the dialect itself: the body is the caller's. */
  readonly native: boolean;
  readonly thinking: ThinkingMode;
  /** Counting, where the engine has a tokenizer: what that is asked. */
  readonly tokenize: Buffer | undefined;
}

/**
 * Reads a Messages request, or one that asks for its tokens only. It is translated, unless its model's engine speaks the
 * dialect. Throws a GatewayProblem that names the fault.
 */
export function prepareMessages(bytes: Buffer, table: RoutingTable, purpose: 'answer' | 'count'): PreparedMessages {
  const scan = scanBody(bytes);
  const head = parseHead(scan);
  const model = findModel(scan, 'chat', table, undefined);
  const { engine, dialects = [] } = model.upstream;
  const sized = (size: PromptSize): CanonicalRequest => ({
    operation: 'chat',
    model: model.id,
    stream: head.stream,
    maxOutputTokens: head.maxTokens,
    choices: 1,
    promptBytes: size.textBytes,
    images: size.images,
  });
  if (dialects.includes('anthropic')) {
    const request = sized(nativeSize(bytes, head.tree));
    return { request, model, body: bytes, native: true, thinking: 'shown', tokenize: undefined };
  }
  const messages = parseMessages(scan, head, model.id, purpose === 'count');
  const body = chatRequest(messages, engine);
  return {
    request: sized(promptSize(body)),
    model,
    body,
    native: false,
    thinking: messages.thinking,
    tokenize: purpose === 'count' && engine === 'vllm' ? tokenizeRequest(messages, engine) : undefined,
  };
}
