import type { Clock, Timer } from '../../common/clock.js';
import type { HistoryPages, SampleRow } from './core/sample-ring.js';
import type { RequestLists } from './core/request-book.js';
import type { RequestStory } from './core/request-story.js';
import type { GatewayName, HouseAbout } from './house-about.js';
import { toldUpstream, type ToldUpstream, type UpstreamView } from './upstream-view.js';

/** Rejections of different kinds that are told. */
const MOST_REJECTIONS = 10;

/** What the operator's page is answered from. */
export abstract class Desk {
  #timer: Timer | undefined;

  constructor(
    protected readonly clock: Clock,
    protected readonly wallClock: () => number,
  ) {}

  abstract about(): HouseAbout;
  abstract history(): HistoryPages;
  abstract snapshot(): HouseSnapshot | Promise<HouseSnapshot>;
  abstract stories(requestId: string): FoundStories | Promise<FoundStories>;
  /** Begins to sample. */
  abstract start(): void;

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Calls on the grid of the wall clock, `aheadMs` before each of its lines, until it is stopped. */
  protected onGrid(everyMs: number, aheadMs: number, sample: () => void): void {
    const untilNextMs = everyMs - ((this.wallClock() + aheadMs) % everyMs);
    this.#timer = this.clock.after(untilNextMs, () => {
      sample();
      this.onGrid(everyMs, aheadMs, sample);
    });
  }
}

/** One process's view at a moment, whole. */
export interface HousePart extends RequestLists {
  readonly gateway: GatewayName;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly state: 'serving' | 'draining';
  /** Which of the stores (or the peers) are out: shares are kept instead. */
  readonly out: { readonly admission: boolean; readonly budgets: boolean };
  readonly upstreams: readonly UpstreamView[];
}

/** The gateway's view at a moment, as far as a page has room for it. */
export interface HouseSnapshot extends Omit<HousePart, 'upstreams'> {
  readonly upstreams: readonly ToldUpstream[];
  /** The newest sample of the history; it changes less often than the rest. */
  readonly sample: SampleRow | undefined;
  /** The processes that have told of themselves; absent: there is one, and this is its view. */
  readonly workers?: readonly WorkerView[];
}

/** One of the processes that a snapshot is put together from. */
export interface WorkerView {
  /** As in the log. */
  readonly worker: number;
  readonly pid: number;
  readonly startedAtMs: number;
  readonly state: HousePart['state'];
  /** How old what it has told is: a process that does not answer is shown as it was. */
  readonly ageMs: number;
}

/** All that is known under an id, newest first; none: it is not known, or has been forgotten. */
export interface FoundStories {
  readonly stories: readonly RequestStory[];
  /** Processes that did not answer: what they know is not in it. */
  readonly silent: number;
}

export const toldHouse = (part: HousePart, sample: SampleRow | undefined): HouseSnapshot => ({
  ...part,
  upstreams: part.upstreams.map(toldUpstream),
  rejections: part.rejections.slice(0, MOST_REJECTIONS),
  sample,
});
