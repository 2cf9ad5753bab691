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
  /** Starts that only a falling counter betrayed. */
  #resets = 0;
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
    if (this.#hasRestarted(gauges, bootMark)) this.#slots = undefined;
    this.#failures = 0;
    this.#learnSlots(gauges);
    this.#snapshot = {
      ...gauges,
      ...(this.#slots === undefined ? {} : { slots: this.#slots }),
      bootId: `${this.#bootMark ?? 'boot'}#${this.#resets}`,
      takenAtMs,
    };
  }

  /** true: this failure turned it stale. */
  fail(): boolean {
    this.#failures += 1;
    const turned = this.#failures === this.policy.staleAfter;
    if (turned) this.#staleCount += 1;
    return turned;
  }

  /** A page without its mark is no new start: only where there never was one do the counters tell. */
  #hasRestarted(gauges: EngineGauges, bootMark: string | undefined): boolean {
    const before = this.#bootMark;
    this.#bootMark = bootMark ?? before;
    if (before !== undefined && bootMark !== undefined) return before !== bootMark;
    const fallen = hasFallen(this.#snapshot, gauges);
    if (fallen) this.#resets += 1;
    return fallen;
  }

  /** An engine that lets requests wait runs as many as it can. */
  #learnSlots({ running = 0, waitingCapacity = 0 }: EngineGauges): void {
    if (running > 0 && waitingCapacity > 0) this.#slots = Math.max(this.#slots ?? 0, running);
  }
}

const hasFallen = (before: EngineGauges | undefined, now: EngineGauges): boolean =>
  COUNTERS.some((name) => (now[name] ?? Infinity) < (before?.[name] ?? 0));
