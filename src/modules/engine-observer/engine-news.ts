import { topic } from '../workers/line.js';
import type { EndpointPlace } from './core/endpoint-place.js';
import type { EngineSnapshot } from './core/engine-snapshot.js';
import type { EndpointState } from './endpoint.js';
import type { ObservationTotals } from './upstream-engines.js';

/** An engine as the process that polls it knows it. */
export interface EndpointNews extends EndpointPlace {
  readonly state: EndpointState;
  readonly degraded: boolean;
  readonly staleCount: number;
  /** Taken at a time of the machine's clock. */
  readonly snapshot?: EngineSnapshot;
}

/** All that is known of the engines of one upstream. */
export interface EngineNews {
  readonly upstream: string;
  readonly endpoints: readonly EndpointNews[];
  readonly totals: ObservationTotals;
}

export const ENGINES = topic<EngineNews>('engines');
/** Somebody wants to be told, from now on. */
export const WATCH_ENGINES = topic<null>('watch-engines');
