import { objectOr } from '../support/json.js';
import { jsonOf, type EngineRequest, type EngineScript } from '../support/scripted-engine.js';

/** Answers as a vLLM server would, for tests that care about what passes and not about what is said. */

const CREATED = 1_760_000_000;
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

export interface Completion {
  readonly content?: string | null;
  readonly tool_calls?: readonly ToolCall[];
}

export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

export const chatAnswer = (model: string, { content = null, tool_calls }: Completion): EngineScript => ({
  body: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: CREATED,
    model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, ...(tool_calls && { tool_calls }) },
        finish_reason: tool_calls ? 'tool_calls' : 'stop',
      },
    ],
    usage: USAGE,
  },
});

export function chatChunk(model: string, delta: unknown, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: CREATED, model, choices });
}

export const usageChunk = (model: string): string =>
  event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: CREATED, model, choices: [], usage: USAGE });

/** A chat stream that says the pieces; the usage chunk only where it was asked for, as an engine does it. */
export function chatStream(model: string, pieces: readonly string[], withUsage: boolean): EngineScript {
  return {
    sse: [
      chatChunk(model, { role: 'assistant', content: '' }),
      ...pieces.map((content) => chatChunk(model, { content })),
      chatChunk(model, {}, 'stop'),
      ...(withUsage ? [usageChunk(model)] : []),
      'data: [DONE]\n\n',
    ],
  };
}

/** The vectors as they were asked for: base64 of little-endian float32, or lists of numbers. */
export function embeddingsAnswer(request: EngineRequest, vectors: readonly (readonly number[])[]): EngineScript {
  const { model, encoding_format } = objectOr(jsonOf(request));
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: encoding_format === 'base64' ? base64Of(vector) : vector,
  }));
  return { body: { object: 'list', data, model, usage: { prompt_tokens: 3, total_tokens: 3 } } };
}

export const askedForUsage = (request: EngineRequest): boolean =>
  objectOr(objectOr(jsonOf(request))['stream_options'])['include_usage'] === true;

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;

function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [position, value] of vector.entries()) bytes.writeFloatLE(value, position * 4);
  return bytes.toString('base64');
}
