import { eventBytes } from '../../../../common/sse.js';
import { unusableAnswer } from '../engine-head.js';
import { isObject, type JsonObject, parsedJson } from '../json-value.js';
import { DONE_EVENT } from './stream-repair.js';

/**
 * A whole answer as an engine would have streamed it: a chunk for each choice, one for the usage, `[DONE]`. A client
 * that waits for events reads nothing out of a JSON body. `isChat`: not of completions. Throws a GatewayProblem where
 * the body has no choices.
 */
export function answerAsStream(body: Buffer, isChat: boolean): Buffer {
  const answer = parsedJson(body.toString('utf8'));
  if (!isObject(answer) || !Array.isArray(answer['choices'])) throw unusableAnswer('the answer has no list of choices');
  const { usage, choices: _choices, ...members } = answer;
  const head = { ...members, object: isChat ? 'chat.completion.chunk' : 'text_completion' };
  const chunks = answer['choices']
    .filter(isObject)
    .map((choice) => ({ ...head, choices: [isChat ? asDelta(choice) : choice] }));
  const last = isObject(usage) ? [{ ...head, choices: [], usage }] : [];
  return Buffer.concat([...[...chunks, ...last].map((chunk) => eventBytes(JSON.stringify(chunk))), DONE_EVENT]);
}

function asDelta(choice: JsonObject): JsonObject {
  const { message, ...members } = choice;
  if (!isObject(message)) return { ...members, delta: { role: 'assistant' } };
  const calls = message['tool_calls'];
  if (!Array.isArray(calls)) return { ...members, delta: message };
  const numbered = calls.map((call: unknown, index) => (isObject(call) ? { ...call, index } : call));
  return { ...members, delta: { ...message, tool_calls: numbered } };
}
