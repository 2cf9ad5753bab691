import type { RequestRecord } from '../../../common/request-record.js';
import type { Moments } from './moments.js';
import { Newest } from './newest.js';
import { RejectionBook, type Rejection } from './rejection-book.js';
import { briefOf, type RequestBrief } from './request-brief.js';
import { storyOf, type RequestStory } from './request-story.js';

const KEPT_ENDED = 2000;
const MOST_REJECTIONS = 10;
const MOST_RUNNING = 10;
const MOST_RECENT = 10;
/** Clients may send an id twice, and those that try again do. */
const MOST_STORIES = 5;

/** The requests that run, and the last ones that have ended. */
export class RequestBook {
  readonly #ended = new Newest<RequestRecord>(KEPT_ENDED);
  readonly #rejections = new RejectionBook();

  /** `live`: the records of those that run. */
  constructor(private readonly live: () => Iterable<RequestRecord>) {}

  /** A request has ended, and its record has been told to the log. */
  add(record: RequestRecord): void {
    // Nothing here tells of it, and it would keep alive whatever it refers to.
    record.cause = undefined;
    this.#ended.add(record);
    if (record.problem !== undefined) this.#rejections.add(record);
  }

  /** All that is known under an id, newest first. */
  stories(requestId: string, at: Moments): RequestStory[] {
    const found: RequestStory[] = [];
    for (const record of this.live()) if (record.requestId === requestId) found.push(storyOf(record, true, at));
    for (const record of this.#ended) {
      if (found.length >= MOST_STORIES) break;
      if (record.requestId === requestId) found.push(storyOf(record, false, at));
    }
    return found.slice(0, MOST_STORIES);
  }

  /** Those that have been there longest, and how many there are. */
  running(at: Moments): { readonly count: number; readonly longest: readonly RequestBrief[] } {
    const records = [...this.live()].filter(({ endedAt }) => endedAt === 0);
    const longest = records.sort((a, b) => a.arrivedAt - b.arrivedAt).slice(0, MOST_RUNNING);
    return { count: records.length, longest: longest.map((record) => briefOf(record, false, at)) };
  }

  recent(at: Moments): RequestBrief[] {
    const recent: RequestBrief[] = [];
    for (const record of this.#ended) {
      if (recent.push(briefOf(record, true, at)) >= MOST_RECENT) break;
    }
    return recent;
  }

  /** Newest first; those that look alike are one. */
  rejections(at: Moments): Rejection[] {
    return this.#rejections.newest(MOST_REJECTIONS, at);
  }
}
