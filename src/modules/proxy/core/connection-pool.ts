/** A connection that carries one job at a time, and tells its pool what becomes of it. */
export interface Connection<Job> {
  /** A job is on it. Only the pool writes this, and the next one. */
  busy: boolean;
  /** When its socket was opened, in monotonic ms; NaN: it has none. */
  openedAtMs: number;
  carry(job: Job): void;
  /** No job is on it, and none will be. */
  letGo(): void;
  /** Settles when what runs on it has failed for that reason. */
  breakOff(reason: Error): Promise<void>;
}

export interface PoolLimits {
  /** That many at most: whoever comes when all are busy waits for its turn. */
  readonly connections: number;
  /** No job goes onto a connection that is older. */
  readonly lifeMs: number;
}

/**
 * The connections to one place. The one that was used last is taken first: what a burst has left over grows idle, and
 * goes. A connection that has lost its socket stays for as long as a job is on it, and opens another one for that.
 */
export class ConnectionPool<Job, Line extends Connection<Job>> {
  readonly #lines = new Set<Line>();
  readonly #idle: Line[] = [];
  /** Not empty: all connections are busy. */
  readonly #waiting: Job[] = [];

  constructor(
    private readonly limits: PoolLimits,
    private readonly clock: { now(): number },
    private readonly open: () => Line,
  ) {}

  /** No connection is open or about to be: so nobody waits for one either. */
  get unused(): boolean {
    return this.#lines.size === 0;
  }

  carry(job: Job): void {
    const line = this.#take();
    if (line === undefined) this.#waiting.push(job);
    else line.carry(job);
  }

  /** It has a socket. */
  opened(line: Line): void {
    line.openedAtMs = this.clock.now();
  }

  /** Its socket is closed. */
  shut(line: Line): void {
    line.openedAtMs = NaN;
    if (line.busy) return;
    this.#lines.delete(line);
    const at = this.#idle.indexOf(line);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  /** It could send another job at once. To say so twice does no harm. */
  freed(line: Line): void {
    if (!line.busy) return;
    line.busy = false;
    if (Number.isNaN(line.openedAtMs)) this.#lines.delete(line);
    else this.#idle.push(line);
    if (this.#waiting.length > 0) this.#serve();
  }

  /** Breaks everything off; what still waits fails. The pool is of no use afterwards. */
  async end(reason: Error, fail: (job: Job) => void): Promise<void> {
    const lines = [...this.#lines];
    this.#lines.clear();
    this.#idle.length = 0;
    for (const line of lines) line.busy = false;
    this.#waiting.splice(0).forEach(fail);
    await Promise.all(lines.map((line) => line.breakOff(reason)));
  }

  #serve(): void {
    const line = this.#take();
    const job = line && this.#waiting.shift();
    if (job !== undefined) line?.carry(job);
  }

  #take(): Line | undefined {
    const line = this.#youngEnough() ?? this.#another();
    if (line !== undefined) line.busy = true;
    return line;
  }

  #youngEnough(): Line | undefined {
    let line = this.#idle.pop();
    if (line === undefined) return undefined;
    const eldestMs = this.clock.now() - this.limits.lifeMs;
    for (; line !== undefined; line = this.#idle.pop()) {
      if (line.openedAtMs >= eldestMs) return line;
      this.#lines.delete(line);
      line.letGo();
    }
    return undefined;
  }

  #another(): Line | undefined {
    if (this.#lines.size >= this.limits.connections) return undefined;
    const line = this.open();
    this.#lines.add(line);
    return line;
  }
}
