/** What an engine's gauges said at one moment. A member that is absent is not known, and never 0. */
export interface EngineGauges {
  /** Requests in the execution batch, of all schedulers. */
  readonly running?: number;
  /** Requests queued inside the engine, of all schedulers. */
  readonly waiting?: number;
  /** The part of `waiting` that waits for capacity; all of it where the engine makes no difference. */
  readonly waitingCapacity?: number;
  /** 0 to 1, of the scheduler that is fullest: one that is full is enough to stall a request. */
  readonly kvUsage?: number;
  readonly kvUsageMean?: number;
  /** Of one scheduler; of the smallest, where they differ. */
  readonly kvCapacityTokens?: number;
  /** Schedulers behind the one address (data parallel). */
  readonly schedulers?: number;
  // Counters since the engine's start: only differences mean something, and only within one bootId.
  readonly preemptions?: number;
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly prefixQueries?: number;
  readonly prefixHits?: number;
  readonly generationTokens?: number;
}

export interface EngineSnapshot extends EngineGauges {
  /** Requests that ran at most while others waited, since the engine's start. Absent: none has waited yet. */
  readonly slots?: number;
  /** Another one than before: the engine has started anew, and its counters with it. */
  readonly bootId: string;
  /** On the monotonic clock, when the answer began. */
  readonly takenAtMs: number;
}

export const COUNTERS = [
  'preemptions',
  'promptTokens',
  'cachedTokens',
  'prefixQueries',
  'prefixHits',
  'generationTokens',
] as const;
export type CounterName = (typeof COUNTERS)[number];

/** What the gate can ask for. */
export type GaugeName = 'running' | 'waiting' | 'kvUsage' | 'kvCapacityTokens';

/** One page, read. */
export interface EngineReading {
  readonly gauges: EngineGauges;
  /** Changes with every start of the engine. undefined: the page does not say. */
  readonly bootMark: string | undefined;
}
