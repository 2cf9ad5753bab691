import type { EngineSnapshot } from '../engine-observer/endpoint.js';
import type { GaugeReading } from './core/pool-types.js';

/**
 * What of an engine's gauges is held against limits. Requests that it has put off for another reason than room (an
 * adapter, a transfer of KV memory: `reason="deferred"`, vLLM) are no congestion.
 */
export const readingOf = (snapshot: EngineSnapshot): GaugeReading => ({
  ...snapshot,
  waiting: snapshot.waitingCapacity ?? snapshot.waiting,
});
