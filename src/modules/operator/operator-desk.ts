import type { Clock } from '../../common/clock.js';
import type { RequestRecord } from '../../common/request-record.js';
import type { QueueSnapshot } from '../admission/queue-snapshot.js';
import type { UpstreamSnapshot } from '../admission/upstream-snapshot.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { History, type Level } from './core/history.js';
import { Moments } from './core/moments.js';
import { RequestBook } from './core/request-book.js';
import type { RequestStory } from './core/request-story.js';
import type { HistoryPages, SampleRow } from './core/sample-ring.js';
import { Desk, toldHouse, type FoundStories, type HousePart, type HouseSnapshot } from './desk.js';
import type { HouseAbout } from './house-about.js';
import { fullestKv, upstreamView } from './upstream-view.js';

export const SAMPLE_EVERY_MS = 2000;
/** Ten minutes. */
export const SAMPLES = 300;

/** What the operator's page looks at. */
export interface House {
  readonly about: HouseAbout;
  readonly slots: { snapshot(): readonly UpstreamSnapshot[]; queues(): readonly QueueSnapshot[] };
  readonly engines: { endpoints(upstream: string): readonly Endpoint[] };
  /** The records of the requests that run. */
  readonly live: () => Iterable<RequestRecord>;
  readonly draining: () => boolean;
  readonly out: () => HousePart['out'];
}

/** The operator's view of one process: taken when somebody asks, but for the samples and the last requests. */
export class OperatorDesk extends Desk {
  readonly #book: RequestBook;
  readonly #history: History;

  constructor(
    private readonly house: House,
    clock: Clock,
    wallClock: () => number = Date.now,
  ) {
    super(clock, wallClock);
    this.#book = new RequestBook(house.live);
    const names = house.about.upstreams.map(({ upstream }) => upstream);
    this.#history = new History(names, SAMPLE_EVERY_MS, SAMPLES);
  }

  /** A request has ended: what is kept of it costs two writes. */
  take(record: RequestRecord): void {
    this.#history.count(record);
    this.#book.add(record);
  }

  /** On the grid of the wall clock; `told` is shown each sample. */
  start(told?: (row: SampleRow) => void): void {
    this.onGrid(SAMPLE_EVERY_MS, 0, () => {
      const before = this.#history.newest;
      this.#history.sample(this.house.slots.snapshot().map(this.#levelOf), this.wallClock());
      const { newest } = this.#history;
      if (newest !== undefined && newest !== before) told?.(newest);
    });
  }

  about(): HouseAbout {
    return this.house.about;
  }

  history(): HistoryPages {
    return this.#history.pages();
  }

  snapshot(): HouseSnapshot {
    return toldHouse(this.part(), this.#history.newest);
  }

  stories(requestId: string): FoundStories {
    return { stories: this.known(requestId), silent: 0 };
  }

  /** All that this process has to say at the moment. */
  part(): HousePart {
    const { about, slots, engines, draining, out } = this.house;
    const at = this.#moments();
    const queues = new Map(slots.queues().map((queue) => [queue.upstream, queue]));
    return {
      gateway: about.gateway,
      atMs: at.wallMs,
      state: draining() ? 'draining' : 'serving',
      out: out(),
      upstreams: slots
        .snapshot()
        .map((one) => upstreamView(one, queues.get(one.upstream), engines.endpoints(one.upstream), at.now)),
      ...this.#book.lists(at),
    };
  }

  /** All that this process knows under an id, newest first. */
  known(requestId: string): RequestStory[] {
    return this.#book.stories(requestId, this.#moments());
  }

  #moments(): Moments {
    return new Moments(this.clock.now(), this.wallClock());
  }

  readonly #levelOf = ({ upstream, requests, waiting, saturation }: UpstreamSnapshot): Level => ({
    upstream,
    running: requests,
    waiting: waiting.reduce((sum, { depth }) => sum + depth, 0),
    saturation,
    kv: fullestKv(this.house.engines.endpoints(upstream)),
  });
}
