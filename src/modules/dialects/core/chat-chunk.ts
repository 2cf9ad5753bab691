import { type Usage, usageFromOpenAi } from '../../../common/canonical/usage.js';
import { type CallFragment, fragmentsOf } from './call-fragment.js';
import { contentText } from './content-text.js';
import { isObject, isText, type JsonObject } from './json-value.js';

/** Where the pieces of an answer go. None of the texts is empty. */
export interface ChunkSink {
  thought(text: string): void;
  text(text: string): void;
  refusal(text: string): void;
  call(fragment: CallFragment): void;
  /** The engine has given its reason to stop; `choice` may say more of it. */
  finish(reason: string, choice: JsonObject): void;
  counted(usage: Usage | undefined): void;
}

/**
 * Reads a chunk of chat completions, or a whole answer as if it were one; `source` is its JSON text. Choices but the
 * first, and what is of another type than it should be, are passed over.
 */
export function readChunk(chunk: JsonObject, source: string, sink: ChunkSink): void {
  if (isObject(chunk['usage'])) sink.counted(usageFromOpenAi(chunk['usage']));
  const choices = chunk['choices'];
  if (!Array.isArray(choices)) return;
  for (let at = 0; at < choices.length; at += 1) {
    const choice: unknown = choices[at];
    if (isObject(choice) && (choice['index'] ?? 0) === 0) readChoice(choice, at, source, sink);
  }
}

function readChoice(choice: JsonObject, at: number, source: string, sink: ChunkSink): void {
  const name = isObject(choice['delta']) ? 'delta' : 'message';
  const said = choice[name];
  if (isObject(said)) {
    readWords(said, sink);
    const calls = said['tool_calls'];
    if (Array.isArray(calls)) {
      const path = ['choices', at, name, 'tool_calls'];
      for (const call of fragmentsOf(calls, source, path, { whole: name === 'message' })) sink.call(call);
    }
  }
  if (isText(choice['finish_reason'])) sink.finish(choice['finish_reason'], choice);
}

/** Reasoning has two names, and what stands under both is said once. */
function readWords(
  { reasoning_content: named, reasoning: renamed, content, refusal }: JsonObject,
  sink: ChunkSink,
): void {
  if (isText(named)) sink.thought(named);
  else if (isText(renamed)) sink.thought(renamed);
  const text = contentText(content);
  if (text !== '') sink.text(text);
  if (isText(refusal)) sink.refusal(refusal);
}
