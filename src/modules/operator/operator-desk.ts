import type { Clock, Timer } from '../../common/clock.js';
import type { RoutingTable } from '../../common/config/routing-table.js';
import { PROBLEMS, reasonOf, type ProblemCode } from '../../common/problem/problems.js';
import type { RequestRecord } from '../../common/request-record.js';
import type { QueueSnapshot } from '../admission/queue-snapshot.js';
import { TEST_WORDS } from '../admission/test-words.js';
import type { UpstreamSnapshot } from '../admission/upstream-snapshot.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { History, type HistoryPages, type Level, type SampleRow } from './core/history.js';
import { Moments } from './core/moments.js';
import { RequestBook } from './core/request-book.js';
import type { Rejection } from './core/rejection-book.js';
import type { RequestBrief } from './core/request-brief.js';
import type { RequestStory } from './core/request-story.js';
import { fullestKv, upstreamView, type UpstreamView } from './house-view.js';

const SAMPLE_EVERY_MS = 2000;
/** Ten minutes. */
const SAMPLES = 300;

/** What the operator's page looks at. */
export interface House {
  readonly slots: { snapshot(): readonly UpstreamSnapshot[]; queues(): readonly QueueSnapshot[] };
  readonly engines: { endpoints(upstream: string): readonly Endpoint[] };
  readonly table: Pick<RoutingTable, 'upstreams' | 'models'>;
  /** Highest first. */
  readonly bands: readonly { readonly name: string; readonly ceiling: number; readonly capacity: number }[];
  /** The records of the requests that run. */
  readonly live: () => Iterable<RequestRecord>;
  readonly draining: () => boolean;
}

/** What does not change while the gateway runs: told once to whoever looks. */
export interface HouseAbout {
  readonly gateway: GatewayName;
  readonly bands: readonly { readonly name: string; readonly ceiling: number; readonly capacity: number }[];
  readonly upstreams: readonly UpstreamAbout[];
  /** What it means that an admission test holds a request. */
  readonly tests: Readonly<Record<string, string>>;
  /** Titles of rejections, by their reason. */
  readonly reasons: Readonly<Record<string, string>>;
}

/** Which process this is: what tells apart what several of them say. */
export interface GatewayName {
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
}

export interface UpstreamAbout {
  readonly upstream: string;
  readonly engine: string;
  readonly models: readonly string[];
  readonly limit: number;
  readonly perEndpoint: number;
  readonly kvCeiling: number | undefined;
  readonly maxInflight: number | undefined;
}

/** One process's view at a moment. */
export interface HouseSnapshot {
  readonly gateway: GatewayName;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly state: 'serving' | 'draining';
  readonly upstreams: readonly UpstreamView[];
  readonly running: { readonly count: number; readonly longest: readonly RequestBrief[] };
  readonly recent: readonly RequestBrief[];
  readonly rejections: readonly Rejection[];
  /** The newest sample of the history; it changes less often than the rest. */
  readonly sample: SampleRow | undefined;
}

/** The operator's view of the house: taken when somebody asks, but for the samples and the last requests. */
export class OperatorDesk {
  readonly #book: RequestBook;
  readonly #history: History;
  #timer: Timer | undefined;

  constructor(
    private readonly house: House,
    private readonly name: GatewayName,
    private readonly clock: Clock,
    private readonly wallClock: () => number = Date.now,
  ) {
    this.#book = new RequestBook(house.live);
    const names = house.table.upstreams.map(({ name: upstream }) => upstream);
    this.#history = new History(names, SAMPLE_EVERY_MS, SAMPLES);
  }

  /** A request has ended: what is kept of it costs two writes. */
  take(record: RequestRecord): void {
    this.#history.count(record);
    this.#book.add(record);
  }

  /** Begins to sample, on the grid of the wall clock. */
  start(): void {
    const untilNextMs = SAMPLE_EVERY_MS - (this.wallClock() % SAMPLE_EVERY_MS);
    this.#timer = this.clock.after(untilNextMs, () => {
      this.sample();
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  sample(): void {
    this.#history.sample(this.house.slots.snapshot().map(this.#levelOf), this.wallClock());
  }

  about(): HouseAbout {
    const { table, bands } = this.house;
    return {
      gateway: this.name,
      bands: bands.map(({ name, ceiling, capacity }) => ({ name, ceiling, capacity })),
      upstreams: table.upstreams.map(({ name, engine, slots, observe }) => ({
        ...{ upstream: name, engine, limit: slots.limit, perEndpoint: slots.perEndpoint },
        models: table.models.filter((model) => model.upstream.name === name).map(({ id }) => id),
        ...{ kvCeiling: observe?.kvCeiling, maxInflight: observe?.maxInflight },
      })),
      tests: TEST_WORDS,
      reasons: Object.fromEntries(
        Object.entries(PROBLEMS).map(([code, { title }]) => [reasonOf(code as ProblemCode), title]),
      ),
    };
  }

  history(): HistoryPages {
    return this.#history.pages();
  }

  snapshot(): HouseSnapshot {
    const { slots, engines, draining } = this.house;
    const at = this.#moments();
    const queues = new Map(slots.queues().map((queue) => [queue.upstream, queue]));
    return {
      gateway: this.name,
      atMs: at.wallMs,
      state: draining() ? 'draining' : 'serving',
      upstreams: slots
        .snapshot()
        .map((one) => upstreamView(one, queues.get(one.upstream), engines.endpoints(one.upstream), at.now)),
      running: this.#book.running(at),
      recent: this.#book.recent(at),
      rejections: this.#book.rejections(at),
      sample: this.#history.newest,
    };
  }

  /** All that is known under an id, newest first; none: it is not known, or has been forgotten. */
  stories(requestId: string): RequestStory[] {
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
