import { isText } from '../json-value.js';
import type { StopReason } from './wire.js';

/** How an engine ended its answer. */
export interface Finish {
  /** `finish_reason`; undefined: none was given. */
  readonly reason: string | undefined;
  /** `stop_reason` beside it: vLLM's way of naming the string that matched. */
  readonly matched: unknown;
  readonly refused: boolean;
  readonly called: boolean;
}

export function stopReasonOf({ reason, matched, refused, called }: Finish): StopReason {
  if (reason === 'length') return 'max_tokens';
  if (reason === 'content_filter' || refused) return 'refusal';
  if (called) return 'tool_use';
  return reason === 'stop' && isText(matched) ? 'stop_sequence' : 'end_turn';
}

/** The `stop_reason` and `stop_sequence` members of an answer. */
export function stopMembers(finish: Finish): { stop_reason: StopReason; stop_sequence: string | null } {
  const reason = stopReasonOf(finish);
  const sequence = reason === 'stop_sequence' && isText(finish.matched) ? finish.matched : null;
  return { stop_reason: reason, stop_sequence: sequence };
}
