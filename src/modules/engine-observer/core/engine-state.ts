import { COUNTERS, type EngineGauges, type EngineReading, type EngineSnapshot } from './engine-snapshot.js';

/**
 * unknown: no good poll yet. healthy: the snapshot is fresh. late: it is older than two intervals, and still the best
 * there is. stale: so many polls in a row have failed that it says nothing any more.
 */
export type EngineCondition = 'unknown' | 'healthy' | 'late' | 'stale';

export interface EngineStatePolicy {
  readonly intervalMs: number;
  /** Failed polls in a row. */
  readonly staleAfter: number;
}

/** What the polls of one engine have told so far. */
export class EngineState {
  #snapshot: EngineSnapshot | undefined;
  #failures = 0;
  #staleCount = 0;
  #bootMark: string | undefined;
  #boots = 0;
  #bootId = '';
  #slots: number | undefined;

  constructor(private readonly policy: EngineStatePolicy) {}

  /** The last one that was good, however old. */
  get snapshot(): EngineSnapshot | undefined {
    return this.#snapshot;
  }

  /** How often it has turned stale. */
  get staleCount(): number {
    return this.#staleCount;
  }

  /** Failed polls since the last good one. */
  get failures(): number {
    return this.#failures;
  }

  conditionAt(nowMs: number): EngineCondition {
    if (this.#failures >= this.policy.staleAfter) return 'stale';
    if (this.#snapshot === undefined) return 'unknown';
    return nowMs - this.#snapshot.takenAtMs > 2 * this.policy.intervalMs ? 'late' : 'healthy';
  }

  succeed({ gauges, bootMark }: EngineReading, takenAtMs: number): void {
    if (this.#snapshot === undefined || this.#hasRestarted(gauges, bootMark)) this.#beginBoot(bootMark);
    this.#bootMark ??= bootMark;
    this.#failures = 0;
    this.#learnSlots(gauges);
    const learned = this.#slots === undefined ? {} : { slots: this.#slots };
    this.#snapshot = { ...gauges, ...learned, bootId: this.#bootId, takenAtMs };
  }

  /** true: this failure turned it stale. */
  fail(): boolean {
    this.#failures += 1;
    const turned = this.#failures === this.policy.staleAfter;
    if (turned) this.#staleCount += 1;
    return turned;
  }

  /** Where one of the two pages has no mark, the counters tell. */
  #hasRestarted(gauges: EngineGauges, bootMark: string | undefined): boolean {
    if (this.#bootMark !== undefined && bootMark !== undefined) return this.#bootMark !== bootMark;
    return hasFallen(this.#snapshot, gauges);
  }

  #beginBoot(bootMark: string | undefined): void {
    this.#boots += 1;
    this.#bootMark = bootMark;
    this.#bootId = `${bootMark ?? 'unmarked'}#${this.#boots}`;
    this.#slots = undefined;
  }

  /** An engine that lets requests wait runs as many as it can. */
  #learnSlots({ running = 0, waitingCapacity = 0 }: EngineGauges): void {
    if (running > 0 && waitingCapacity > 0) this.#slots = Math.max(this.#slots ?? 0, running);
  }
}

const hasFallen = (before: EngineGauges | undefined, now: EngineGauges): boolean =>
  COUNTERS.some((name) => (now[name] ?? Infinity) < (before?.[name] ?? 0));
