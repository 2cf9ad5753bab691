import { topic, type Line } from '../workers/line.js';
import { RoundupTopics } from '../workers/roundup.js';
import type { RequestStory } from './core/request-story.js';
import type { SampleRow } from './core/sample-ring.js';
import type { HousePart } from './desk.js';
import type { OperatorDesk } from './operator-desk.js';

export const PARTS = new RoundupTopics<null, HousePart>('desk-part');
export const STORIES = new RoundupTopics<string, readonly RequestStory[]>('desk-stories');
/** What a worker has sampled. */
export const SAMPLED = topic<SampleRow>('desk-sampled');

/** A worker tells the primary what its desk knows: its samples unasked, everything else when it is asked. */
export function tellDesk(line: Line, desk: OperatorDesk): void {
  PARTS.serve(line, () => desk.part());
  STORIES.serve(line, (requestId) => desk.known(requestId));
  desk.start((row) => line.post(SAMPLED, row));
}
