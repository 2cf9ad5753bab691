import type { EngineCondition } from './core/engine-state.js';
import type { EngineSnapshot } from './core/engine-snapshot.js';
import type { FaultCounts } from './core/scrape-fault.js';

export type { EngineSnapshot } from './core/engine-snapshot.js';
export type { FaultCounts, ScrapeFault } from './core/scrape-fault.js';

/** unobserved: nobody asks it, and the ledger alone tells how full it is. */
export type EndpointState = EngineCondition | 'unobserved';

/** One engine behind an upstream, as it is now: the members change, the object stays. */
export interface Endpoint {
  /** host:port. */
  readonly id: string;
  /** The upstream's name. */
  readonly upstream: string;
  /** What is dialled: scheme, host and port. */
  readonly origin: string;
  /** What goes into `Host`. */
  readonly authority: string;
  readonly state: EndpointState;
  /** The last good one, however old; `state` says what it is worth. undefined: there was none yet. */
  readonly snapshot: EngineSnapshot | undefined;
  /** A gauge that the gate needs is missing or unreadable, or the whole page is. */
  readonly degraded: boolean;
  /** What is wrong with its gauges, in a few words. Absent: nothing is. */
  readonly complaint?: string | undefined;
  readonly faults: FaultCounts;
  /** How often it has turned stale. */
  readonly staleCount: number;
}

export type LogLevel = 'info' | 'warn' | 'error';
/** Takes one line of the log. */
export type ObserverLog = (level: LogLevel, fields: Readonly<Record<string, unknown>>, text: string) => void;
