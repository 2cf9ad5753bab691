import { isObject, objectOr, shown, type JsonObject } from '../json.js';
import type { SseFrame } from '../sse-frames.js';
import { isFilled, must, typedData, type StreamOutcome } from './must.js';

interface Item {
  readonly id: string;
  readonly type: unknown;
  /** Parts that were added, as `content 0` or `summary 0`. */
  readonly parts: Set<string>;
  done: boolean;
}

interface Progress {
  responseId: unknown;
  readonly items: Item[];
  terminal: string | undefined;
}

const COMPLETE = ['response.completed', 'response.incomplete'];
const FAILED = ['response.failed', 'error'];

/** Throws BrokenStream at the first rule of the Responses stream that does not hold. */
export function checkResponsesStream(frames: readonly SseFrame[], outcome: StreamOutcome): void {
  const progress: Progress = { responseId: undefined, items: [], terminal: undefined };
  for (const [position, frame] of frames.entries()) {
    const at = `frame ${String(position)}`;
    const data = typedData(frame, at);
    must(progress.terminal === undefined, `${at}: ${shown(data['type'])} after ${String(progress.terminal)}`);
    must(position > 0 || data['type'] === 'response.created', `${at}: the first event is ${shown(data['type'])}`);
    must(data['sequence_number'] === position, `${at}: sequence_number ${shown(data['sequence_number'])}`);
    step(progress, data, at);
  }
  if (outcome === 'error') must(FAILED.includes(String(progress.terminal)), `ended with ${shown(progress.terminal)}`);
  if (outcome !== 'complete') return;
  must(COMPLETE.includes(String(progress.terminal)), `ended with ${shown(progress.terminal)}`);
  const left = progress.items.findIndex((item) => !item.done);
  must(left < 0, `item ${String(left)} was not done at the end`);
}

function step(progress: Progress, data: JsonObject, at: string): void {
  const type = String(data['type']);
  checkResponseId(progress, data, at);
  if ([...COMPLETE, ...FAILED].includes(type)) progress.terminal = type;
  if (type === 'response.output_item.added') return addItem(progress, data, at);
  if (!('output_index' in data)) return;
  const item = openItem(progress, data, at);
  if (type === 'response.output_item.done') {
    item.done = true;
    return;
  }
  const part = partOf(data);
  if (part === undefined) return;
  if (type.endsWith('_part.added')) {
    must(!item.parts.has(part), `${at}: the part ${part} is added twice`);
    item.parts.add(part);
  }
  must(item.parts.has(part), `${at}: ${type} for the part ${part}, which was not added`);
}

function checkResponseId(progress: Progress, data: JsonObject, at: string): void {
  const response = data['response'];
  if (!isObject(response)) return;
  must(isFilled(response['id']), `${at}: the response has the id ${shown(response['id'])}`);
  progress.responseId ??= response['id'];
  must(response['id'] === progress.responseId, `${at}: the response id changed to ${shown(response['id'])}`);
}

function addItem({ items }: Progress, data: JsonObject, at: string): void {
  const item = objectOr(data['item']);
  must(
    data['output_index'] === items.length,
    `${at}: output_index ${shown(data['output_index'])}, expected ${String(items.length)}`,
  );
  must(isFilled(item['id']), `${at}: an item with the id ${shown(item['id'])}`);
  items.push({ id: item['id'], type: item['type'], parts: new Set(), done: false });
}

/** The item that the event belongs to: added, not done yet, and named by its own id. */
function openItem({ items }: Progress, data: JsonObject, at: string): Item {
  const item = items[Number(data['output_index'])];
  must(
    item !== undefined,
    `${at}: ${shown(data['type'])} for item ${shown(data['output_index'])}, which was not added`,
  );
  must(!item.done, `${at}: ${shown(data['type'])} for item ${shown(data['output_index'])}, which was done`);
  const id = 'item_id' in data ? data['item_id'] : objectOr(data['item'])['id'];
  must(id === item.id, `${at}: the item is ${shown(item.id)}, the event names ${shown(id)}`);
  const forFunction = String(data['type']).startsWith('response.function_call_arguments.');
  must(!forFunction || item.type === 'function_call', `${at}: arguments for an item of type ${shown(item.type)}`);
  return item;
}

function partOf(data: JsonObject): string | undefined {
  if ('content_index' in data) return `content ${String(data['content_index'])}`;
  return 'summary_index' in data ? `summary ${String(data['summary_index'])}` : undefined;
}
