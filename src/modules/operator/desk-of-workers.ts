import type { Clock } from '../../common/clock.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { Roundup } from '../workers/roundup.js';
import type { WorkerProcess } from '../workers/supervisor.js';
import { summedLists, summedStories } from './core/request-book.js';
import type { HistoryPages } from './core/sample-ring.js';
import { SummedHistory } from './core/summed-history.js';
import { Desk, toldHouse, type FoundStories, type HousePart, type HouseSnapshot, type WorkerView } from './desk.js';
import { PARTS, SAMPLED, STORIES } from './desk-topics.js';
import type { HouseAbout } from './house-about.js';
import { SAMPLE_EVERY_MS, SAMPLES } from './operator-desk.js';
import { summedUpstreams, withEngines, withoutOthers } from './summed-upstreams.js';

/** A worker that is busy is not waited for longer: it is shown as it was. */
const PATIENCE_MS = 500;
/** Workers sample on the grid of the wall clock, and what they say then is here by the middle of the stretch after it. */
const SAMPLE_AT_MS = SAMPLE_EVERY_MS / 2;

/** What the processes of a gateway have in common. */
export interface SharedHouse {
  readonly about: HouseAbout;
  /** Polled here, for all workers. */
  readonly engines: { endpoints(upstream: string): readonly Endpoint[] };
}

/** The operator's view of a gateway of several processes, put together from what each of them tells. */
export class DeskOfWorkers extends Desk {
  readonly #parts: Roundup<WorkerProcess, null, HousePart>;
  readonly #stories: Roundup<WorkerProcess, string, FoundStories['stories']>;
  readonly #history: SummedHistory<WorkerProcess>;
  /** What each worker has told last. */
  readonly #last = new Map<WorkerProcess, HousePart>();

  constructor(
    private readonly house: SharedHouse,
    clock: Clock,
    wallClock: () => number = Date.now,
  ) {
    super(clock, wallClock);
    const names = house.about.upstreams.map(({ upstream }) => upstream);
    this.#history = new SummedHistory(names, SAMPLE_EVERY_MS, SAMPLES);
    this.#parts = new Roundup(PARTS, clock, PATIENCE_MS);
    this.#stories = new Roundup(STORIES, clock, PATIENCE_MS);
  }

  join(worker: WorkerProcess): void {
    this.#parts.join(worker);
    this.#stories.join(worker);
    worker.line.on(SAMPLED, (row) => this.#history.take(worker, row));
  }

  leave(worker: WorkerProcess): void {
    this.#parts.leave(worker);
    this.#stories.leave(worker);
    this.#history.leave(worker);
    this.#last.delete(worker);
  }

  start(): void {
    this.onGrid(SAMPLE_EVERY_MS, SAMPLE_AT_MS, () => this.#history.sample(this.wallClock()));
  }

  about(): HouseAbout {
    return this.house.about;
  }

  history(): HistoryPages {
    return this.#history.pages();
  }

  async snapshot(): Promise<HouseSnapshot> {
    for (const [worker, part] of await this.#parts.ask(null))
      if (this.#parts.present.has(worker)) this.#last.set(worker, part);
    const atMs = this.wallClock();
    const workers = [...this.#last].map(([worker, part]) => workerView(worker, part, atMs));
    workers.sort((a, b) => a.worker - b.worker || a.startedAtMs - b.startedAtMs);
    return { ...toldHouse(this.#whole(atMs), this.#history.newest), workers };
  }

  async stories(requestId: string): Promise<FoundStories> {
    const answers = await this.#stories.ask(requestId);
    const lists = [...answers].map(([{ index }, stories]) => stories.map((story) => ({ ...story, worker: index })));
    return { stories: summedStories(lists), silent: this.#stories.present.size - answers.size };
  }

  #whole(atMs: number): HousePart {
    const parts = [...this.#last.values()];
    const { about, engines } = this.house;
    const names = about.upstreams.map(({ upstream }) => upstream);
    const upstreams = summedUpstreams(
      parts.map((part) => part.upstreams),
      names,
    );
    const drains = parts.length > 0 && parts.every(({ state }) => state === 'draining');
    return {
      gateway: about.gateway,
      atMs,
      state: drains ? 'draining' : 'serving',
      out: { admission: parts.some(({ out }) => out.admission), budgets: parts.some(({ out }) => out.budgets) },
      upstreams: upstreams.map((view) => {
        const told = hasOthers(about) ? view : withoutOthers(view);
        return withEngines(told, engines.endpoints(view.upstream), this.clock.now());
      }),
      ...summedLists(parts),
    };
  }
}

/** There are other gateways, and they tell what they hold. */
const hasOthers = ({ sharing }: HouseAbout): boolean => sharing.replicas > 1 && sharing.admission !== 'none';

const workerView = ({ index, pid }: WorkerProcess, { gateway, state, atMs }: HousePart, now: number): WorkerView => ({
  ...{ worker: index, pid, startedAtMs: gateway.startedAtMs, state },
  ageMs: Math.max(0, now - atMs),
});
