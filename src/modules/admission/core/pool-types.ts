/** What the pool is told of a request before it may run. Everything in it is an estimate or a configured name. */
export interface PoolRequest {
  readonly tenant: string;
  /** Index of its band, 0 the highest. */
  readonly band: number;
  /** Sequences that the engine will run for it. */
  readonly places: number;
  /** Estimated prompt tokens. */
  readonly promptTokens: number;
  /** Of those, tokens that the engine is expected to have cached. */
  readonly cachedTokens: number;
  /** Estimated output tokens. */
  readonly outputTokens: number;
  /** It is streamed: it may be kept alive while it waits, and so wait longer for a long prompt; its first token shows. */
  readonly stretchable: boolean;
}

/** How a wait ended without a place, as a closed list. */
export type Refusal = 'queue-full' | 'engine-saturated' | 'queue-timeout' | 'draining' | 'upstream-unreachable';

/** The names of the tests that a request has to pass on an endpoint; the metrics' label. */
export type TestName =
  | 'limit'
  | 'ready'
  | 'reserved'
  | 'count'
  | 'share'
  | 'yield'
  | 'claim'
  | 'max_inflight'
  | 'kv_gauge'
  | 'kv'
  | 'backlog'
  | 'heavy_first'
  | 'long'
  | 'heavy_shape'
  | 'lane_drain'
  | 'quiet'
  | 'strict_reserve';

/** By how much work a request is: less than 4 s of prefill, up to 20 s, more. */
export type WorkClass = 'light' | 'heavy' | 'long';

/** The gauges of one endpoint at one moment, as far as they are known: absent is unknown, never zero. */
export interface GaugeReading {
  readonly running?: number | undefined;
  readonly waiting?: number | undefined;
  /** 0 to 1. */
  readonly kvUsage?: number | undefined;
  readonly kvCapacityTokens?: number | undefined;
  readonly preemptions?: number | undefined;
  readonly prefixQueries?: number | undefined;
  readonly prefixHits?: number | undefined;
  /** Changes when the engine's process does. */
  readonly bootId?: string | undefined;
  /** Of the monotonic clock, when the reading's answer began. */
  readonly takenAtMs: number;
}

/** A place that was granted. Each call is idempotent; after `release` the others do nothing. */
export interface Lease {
  readonly endpoint: string;
  readonly waitedMs: number;
  /** The first token is on its way to the client: its prefill is over. */
  firstToken(): void;
  /** What the engine counted. Given before `release`, the tenant is charged by it and the estimates learn. */
  settle(promptTokens: number, completionTokens: number): void;
  release(): void;
  /**
   * The endpoint refused the connection: it is left alone for a while, the place is given back, and the request asks
   * again at the head of its queue. undefined: no other endpoint is ready, or it has been tried often enough.
   */
  refused(listener: PoolListener): Ticket | undefined;
}

/** Someone who waits. `cancel` takes it out of the queue, at once and without a trace. */
export interface Ticket {
  cancel(): void;
}

export interface PoolListener {
  /** Of the request that waits, for whoever looks at the queue. */
  readonly requestId?: string | undefined;
  /** It has to wait, behind so many others of its band. */
  queued?(ahead: number): void;
  /** Another test than before holds it back. */
  held?(test: TestName): void;
  /** Something has been sent already: a drain lets it wait for its place. Absent: nothing has. */
  committed?(): boolean;
  granted(lease: Lease): void;
  refused(refusal: Refusal, retryAfterSeconds: number, why?: RefusalReason): void;
}

/** What stood in the way of a request that got no place. */
export interface RefusalReason {
  /** Requests of its band that wait. */
  readonly waiting: number;
  readonly waitedMs: number;
  /** The test that held it back last; undefined: it was never tried. */
  readonly heldBy: TestName | undefined;
}

export interface BandRules {
  readonly name: string;
  /** Share of an endpoint's slots, and of its KV memory up to 1, that the band may see taken. */
  readonly ceiling: number;
  readonly capacity: number;
  readonly ttlMs: number;
}

/** What the configuration says of one upstream's admission. */
export interface PoolPolicy {
  readonly name: string;
  /** Highest first. */
  readonly bands: readonly BandRules[];
  /** Index of the default band. */
  readonly defaultBand: number;
  /** Requests in flight over all endpoints. */
  readonly limit: number;
  /** Sequences that one endpoint runs at once. */
  readonly slotsPerEndpoint: number;
  readonly retryAfterMs: number;
  readonly strictReserve: boolean;
  /** Its engines prefill and hold KV: all tests apply. Otherwise only places are counted. */
  readonly generates: boolean;
  /** Gates on the engine's own gauges; undefined: none are read. */
  readonly gauges: { readonly kvCeiling: number; readonly maxInflight: number; readonly maxParkMs: number } | undefined;
  /** Tests left out, for the scenarios that price them. */
  readonly without?: ReadonlySet<TestName>;
}
