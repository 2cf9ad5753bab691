import { isObject, shown, type JsonObject } from '../json.js';
import type { SseFrame } from '../sse-frames.js';

/** How a stream had to end. undefined: either way, or cut short by its reader; only what came is checked. */
export type StreamOutcome = 'complete' | 'error' | undefined;

/** A stream that breaks a rule of its dialect. */
export class BrokenStream extends Error {}

export function must(holds: boolean, rule: string): asserts holds {
  if (!holds) throw new BrokenStream(rule);
}

/** The frame's JSON object, whose `type` its event name must repeat. */
export function typedData(frame: SseFrame, at: string): JsonObject {
  must(isObject(frame.data), `${at}: the data is not an object but ${shown(frame.data)}`);
  must(typeof frame.data['type'] === 'string', `${at}: the data has no type`);
  must(
    frame.event === frame.data['type'],
    `${at}: event ${shown(frame.event)} with data of type ${shown(frame.data['type'])}`,
  );
  return frame.data;
}

export const isFilled = (value: unknown): value is string => typeof value === 'string' && value !== '';
