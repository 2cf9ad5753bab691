import type { RequestRecord } from '../../../common/request-record.js';
import { EndedRequest } from './ended-request.js';
import type { Moments } from './moments.js';
import { Newest } from './newest.js';
import { RejectionBook, summedRejections, type Rejection } from './rejection-book.js';
import { briefOf, endOf, whyOf, type RequestBrief } from './request-brief.js';
import { storyOf, type RequestStory } from './request-story.js';

const KEPT_ENDED = 2000;
const MOST_RUNNING = 10;
const MOST_RECENT = 10;
/** Clients may send an id twice, and those that try again do. */
const MOST_STORIES = 5;

/** What is known of the requests of a process: the lists of a page, the newest or longest first. */
export interface RequestLists {
  readonly running: { readonly count: number; readonly longest: readonly RequestBrief[] };
  readonly recent: readonly RequestBrief[];
  readonly rejections: readonly Rejection[];
}

/** The requests that run, and the last ones that have ended. */
export class RequestBook {
  readonly #ended = new Newest(KEPT_ENDED, () => new EndedRequest());
  readonly #rejections = new RejectionBook();

  /** `live`: the records of those that run. */
  constructor(private readonly live: () => Iterable<RequestRecord>) {}

  /** A request has ended, and its record has been told to the log. */
  add(record: RequestRecord): void {
    // Nothing here tells more of it, and it would keep alive whatever it refers to.
    record.cause = whyOf(record.cause);
    this.#ended.next().note(record);
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

  /** Of the rejections all that look alike are one, and none is left out. */
  lists(at: Moments): RequestLists {
    return { running: this.#running(at), recent: this.#recent(at), rejections: this.#rejections.newest(at) };
  }

  #running(at: Moments): RequestLists['running'] {
    const records = [...this.live()].filter(({ endedAt }) => endedAt === 0);
    const longest = records.sort((a, b) => a.arrivedAt - b.arrivedAt).slice(0, MOST_RUNNING);
    return { count: records.length, longest: longest.map((record) => briefOf(record, false, at)) };
  }

  #recent(at: Moments): RequestBrief[] {
    const recent: RequestBrief[] = [];
    for (const record of this.#ended) {
      if (recent.push(briefOf(record, true, at)) >= MOST_RECENT) break;
    }
    return recent;
  }
}

/** The lists of several processes as those of one. */
export function summedLists(lists: readonly RequestLists[]): RequestLists {
  const longest = lists.flatMap(({ running }) => running.longest);
  const recent = lists.flatMap((one) => one.recent);
  return {
    running: {
      count: lists.reduce((sum, { running }) => sum + running.count, 0),
      longest: longest.sort((a, b) => a.arrivedAtMs - b.arrivedAtMs).slice(0, MOST_RUNNING),
    },
    recent: recent.sort((a, b) => endOf(b) - endOf(a)).slice(0, MOST_RECENT),
    rejections: summedRejections(lists.map(({ rejections }) => rejections)),
  };
}

/** The stories of several processes as those of one. */
export const summedStories = (lists: readonly (readonly RequestStory[])[]): RequestStory[] =>
  lists
    .flat()
    .sort((a, b) => Number(b.live) - Number(a.live) || b.arrivedAtMs - a.arrivedAtMs)
    .slice(0, MOST_STORIES);
