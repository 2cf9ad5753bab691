import type { Clock, Timer } from '../../common/clock.js';
import type { OperatorLog } from '../../common/operator-log.js';
import { Restarts } from './core/restarts.js';
import type { Line } from './line.js';
import { END, FAILED, LEAVING, READY } from './topics.js';

/** One process. */
export interface WorkerProcess {
  readonly index: number;
  readonly pid: number;
  readonly line: Line;
  kill(): void;
}

/** How a process went: `code` 0 is the only clean one. */
export interface Departure {
  readonly code: number;
  /** For the operator. */
  readonly how: string;
}

export interface SupervisorWorld {
  readonly workers: number;
  readonly clock: Clock;
  readonly log: OperatorLog;
  /** Starts a process, and calls back once when it has gone. */
  fork(index: number, gone: (departure: Departure) => void): WorkerProcess;
  /** It is there; it has gone, and whatever it held with it. */
  joined(worker: WorkerProcess): void;
  left(worker: WorkerProcess): void;
  /** How long a worker that was told to end may take, and one that was told twice. */
  readonly endMs: number;
  readonly endAtOnceMs: number;
}

/** One of the places to be filled with a process. */
interface Seat {
  readonly index: number;
  readonly restarts: Restarts;
  listening: boolean;
  timer: Timer | undefined;
}

/** Keeps as many workers running as there are to be, until it is told to end. */
export class Supervisor {
  /** The exit code, when the last worker has gone. */
  readonly ended: Promise<number>;
  readonly #end = Promise.withResolvers<number>();
  readonly #started = Promise.withResolvers<string>();
  readonly #seats: readonly Seat[];
  readonly #present = new Set<WorkerProcess>();
  #ending = false;
  #code = 0;

  constructor(private readonly world: SupervisorWorld) {
    this.ended = this.#end.promise;
    this.#seats = Array.from({ length: world.workers }, (_, at) => ({
      index: at + 1,
      restarts: new Restarts(),
      listening: false,
      timer: undefined,
    }));
  }

  /** Starts all workers; settles with their address when every one listens. Rejects where one cannot, with none left. */
  async start(): Promise<string> {
    for (const seat of this.#seats) this.#fill(seat);
    try {
      return await this.#started.promise;
    } catch (error) {
      this.end('no start', 1);
      this.end('no start', 1);
      await this.ended;
      throw error;
    }
  }

  /** Has every worker drain; the second time, end at once. */
  end(reason: string, code = 0): void {
    this.#code = Math.max(this.#code, code);
    const { clock, endMs, endAtOnceMs } = this.world;
    const patienceMs = this.#ending ? endAtOnceMs : endMs;
    this.#ending = true;
    for (const { timer } of this.#seats) timer?.cancel();
    for (const { line } of this.#present) line.post(END, { reason });
    clock.after(patienceMs, () => this.#killTheRest());
    this.#settleWhenEmpty();
  }

  /** Those that are there now, those that are leaving too. */
  get present(): ReadonlySet<WorkerProcess> {
    return this.#present;
  }

  #fill(seat: Seat): void {
    seat.timer = undefined;
    const bornAt = this.world.clock.now();
    let leaving = false;
    const leave = (how: string): void => {
      if (leaving || this.#ending) return;
      leaving = true;
      this.#fillAgain(seat, how, this.world.clock.now() - bornAt);
    };
    const worker = this.world.fork(seat.index, (departure) => {
      this.#gone(worker, departure);
      leave(departure.how);
    });
    this.#present.add(worker);
    this.#listenTo(worker, seat, leave);
    this.world.joined(worker);
  }

  #listenTo({ line, index, pid }: WorkerProcess, seat: Seat, leave: (how: string) => void): void {
    line.on(READY, ({ listen }) => {
      if (seat.listening) this.world.log.info({ worker: index, worker_pid: pid }, 'the worker listens');
      seat.listening = true;
      if (this.#seats.every(({ listening }) => listening)) this.#started.resolve(listen);
    });
    // Only the first start can fail for good: what was there once (a port, a file) may come back.
    line.on(FAILED, ({ message }) => this.#started.reject(new Error(message)));
    // Its drain may take long: another one takes its place meanwhile.
    line.on(LEAVING, ({ reason }) => leave(reason));
  }

  #fillAgain(seat: Seat, how: string, livedMs: number): void {
    const { clock, log } = this.world;
    const delayMs = seat.restarts.delayAfter(livedMs);
    if (delayMs === undefined) return this.#giveUp(seat.restarts.hopeless(seat.index, how));
    const fields = { worker: seat.index, how, lived_ms: Math.round(livedMs), again_in_ms: delayMs };
    log.warn(fields, 'a worker has ended: another one is started');
    seat.timer = clock.after(delayMs, () => this.#fill(seat));
  }

  #giveUp(message: string): void {
    this.world.log.error({}, message);
    this.#started.reject(new Error(message));
    this.end('workers end at once', 1);
  }

  #gone(worker: WorkerProcess, { code }: Departure): void {
    this.#present.delete(worker);
    this.world.left(worker);
    if (this.#ending) this.#code = Math.max(this.#code, code);
    this.#settleWhenEmpty();
  }

  #killTheRest(): void {
    for (const worker of this.#present) {
      this.world.log.error({ worker: worker.index }, 'a worker does not end: it is killed');
      worker.kill();
    }
  }

  #settleWhenEmpty(): void {
    if (this.#ending && this.#present.size === 0) this.#end.resolve(this.#code);
  }
}
