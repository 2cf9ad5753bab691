import { isList, isObject, listOr, objectOr, shown, type JsonObject } from '../json.js';
import type { SseFrame } from '../sse-frames.js';
import { isFilled, must, type StreamOutcome } from './must.js';

interface Choice {
  role: boolean;
  tools: number;
  finished: boolean;
}

interface Progress {
  id: unknown;
  readonly choices: Map<unknown, Choice>;
  /** What the stream has ended with. */
  ended: '[DONE]' | 'error' | undefined;
}

/** Throws BrokenStream at the first rule of the chat completion stream that does not hold. */
export function checkOpenAiChatStream(frames: readonly SseFrame[], outcome: StreamOutcome): void {
  const progress: Progress = { id: undefined, choices: new Map(), ended: undefined };
  for (const [position, { data }] of frames.entries()) {
    const at = `frame ${String(position)}`;
    must(progress.ended === undefined, `${at}: ${shown(data)} after ${String(progress.ended)}`);
    if (data === '[DONE]') progress.ended = '[DONE]';
    else step(progress, data, at);
  }
  if (outcome === 'error') must(progress.ended === 'error', 'the stream did not end with an error');
  if (outcome !== 'complete') return;
  must(progress.ended === '[DONE]', 'the stream did not end with [DONE]');
  must(progress.choices.size > 0, 'the stream has no choice');
  for (const [index, choice] of progress.choices) {
    must(choice.finished, `choice ${shown(index)} has no finish_reason`);
  }
}

function step(progress: Progress, data: unknown, at: string): void {
  must(isObject(data), `${at}: neither JSON nor [DONE]: ${shown(data)}`);
  if ('error' in data) {
    progress.ended = 'error';
    return;
  }
  must(isList(data['choices']), `${at}: choices is ${shown(data['choices'])}`);
  must(isFilled(data['id']), `${at}: the id is ${shown(data['id'])}`);
  progress.id ??= data['id'];
  must(data['id'] === progress.id, `${at}: the id was ${shown(progress.id)} and is ${shown(data['id'])}`);
  for (const choice of data['choices']) checkChoice(progress.choices, objectOr(choice), at);
}

function checkChoice(choices: Map<unknown, Choice>, part: JsonObject, at: string): void {
  const index = part['index'];
  const where = `${at}, choice ${shown(index)}`;
  must(typeof index === 'number', `${where}: the index is not a number`);
  const delta = objectOr(part['delta']);
  const choice = choices.get(index) ?? { role: false, tools: 0, finished: false };
  choices.set(index, choice);
  const role = delta['role'] ?? undefined;
  must(choice.role || role === 'assistant', `${where}: the first delta has no role assistant`);
  must(role === undefined || role === 'assistant', `${where}: the role is ${shown(role)}`);
  choice.role = true;
  for (const fragment of listOr(delta['tool_calls'])) checkFragment(choice, objectOr(fragment), where);
  const reason = part['finish_reason'] ?? undefined;
  must(reason === undefined || !choice.finished, `${where}: a second finish_reason`);
  if (reason !== undefined) choice.finished = true;
}

function checkFragment(choice: Choice, fragment: JsonObject, where: string): void {
  const index = fragment['index'];
  const call = objectOr(fragment['function']);
  must(Number.isInteger(index), `${where}: a tool call with the index ${shown(index)}`);
  must(Number(index) >= 0 && Number(index) <= choice.tools, `${where}: tool call ${shown(index)} leaves a gap`);
  const pieces = call['arguments'];
  must(pieces === undefined || typeof pieces === 'string', `${where}: arguments are ${shown(pieces)}`);
  if (Number(index) < choice.tools) return;
  choice.tools += 1;
  must(isFilled(fragment['id']), `${where}: tool call ${shown(index)} starts without an id`);
  must(fragment['type'] === 'function', `${where}: tool call ${shown(index)} starts without its type`);
  must(isFilled(call['name']), `${where}: tool call ${shown(index)} starts without a name`);
}

/** Throws BrokenStream at the first rule of the text completion stream that does not hold. */
export function checkOpenAiCompletionsStream(frames: readonly SseFrame[], outcome: StreamOutcome): void {
  let ended: '[DONE]' | 'error' | undefined;
  for (const [position, { data }] of frames.entries()) {
    const at = `frame ${String(position)}`;
    must(ended === undefined, `${at}: ${shown(data)} after ${String(ended)}`);
    if (data === '[DONE]') {
      ended = '[DONE]';
      continue;
    }
    must(isObject(data), `${at}: neither JSON nor [DONE]: ${shown(data)}`);
    if ('error' in data) ended = 'error';
    else must(isList(data['choices']), `${at}: choices is ${shown(data['choices'])}`);
  }
  if (outcome === 'complete') must(ended === '[DONE]', 'the stream did not end with [DONE]');
  if (outcome === 'error') must(ended === 'error', 'the stream did not end with an error');
}
