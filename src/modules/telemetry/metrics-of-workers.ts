import type { Registry } from 'prom-client';
import type { Clock } from '../../common/clock.js';
import { METRICS, READ_METRICS } from '../workers/topics.js';
import type { WorkerProcess } from '../workers/supervisor.js';
import { pageFrom, WorkerPages } from './worker-pages.js';

/** A worker that is busy is not waited for longer: its last page is shown again. */
const PATIENCE_MS = 1000;

/** One reading of all workers. */
interface Turn {
  readonly awaited: Set<WorkerProcess>;
  readonly done: () => void;
}

/** Asks the workers for their metrics when somebody reads. */
export class MetricsOfWorkers {
  readonly #pages = new WorkerPages<WorkerProcess>();
  readonly #present = new Set<WorkerProcess>();
  readonly #turns = new Map<number, Turn>();
  #turn = 0;

  constructor(
    private readonly registry: Registry,
    private readonly clock: Clock,
  ) {}

  join(worker: WorkerProcess): void {
    this.#present.add(worker);
    worker.line.on(METRICS, ({ turn, page }) => {
      this.#pages.take(worker, page);
      this.#heard(worker, turn);
    });
  }

  leave(worker: WorkerProcess): void {
    this.#present.delete(worker);
    this.#pages.forget(worker);
    for (const turn of this.#turns.keys()) this.#heard(worker, turn);
  }

  async render(): Promise<string> {
    await this.#readAll();
    return this.#pages.render(pageFrom(await this.registry.getMetricsAsJSON()));
  }

  async #readAll(): Promise<void> {
    const turn = (this.#turn += 1);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = this.clock.after(PATIENCE_MS, () => resolve(undefined));
    this.#turns.set(turn, { awaited: new Set(this.#present), done: () => resolve(undefined) });
    for (const { line } of this.#present) line.post(READ_METRICS, { turn });
    if (this.#present.size > 0) await promise;
    timer.cancel();
    this.#turns.delete(turn);
  }

  #heard(worker: WorkerProcess, turn: number): void {
    const asked = this.#turns.get(turn);
    if (asked?.awaited.delete(worker) === true && asked.awaited.size === 0) asked.done();
  }
}
