import type { Clock } from '../common/clock.js';
import type { GaugeReading, PoolListener, PoolRequest, Ticket } from '../modules/admission/core/pool-types.js';

/** What stands between clients and endpoints: the controller, or one of those that it is compared with. */
export interface Gate {
  /** Places held. */
  readonly inUse: number;
  setEndpoints(ids: readonly string[]): void;
  /** A good poll; undefined: too many have failed. */
  read(endpoint: string, reading: GaugeReading | undefined): void;
  /** Asks for a place. The listener is called once. */
  enqueue(request: PoolRequest, listener: PoolListener): Ticket;
  /** Requests that wait in a band. */
  depth(band: number): number;
}

/** Where a gate is built. */
export interface GateSite {
  readonly clock: Clock;
  readonly random: () => number;
  /** Which gateway it belongs to, of how many. */
  readonly gateway: number;
  readonly gateways: number;
  readonly endpoints: number;
  /** Sequences that one endpoint runs at once. */
  readonly slots: number;
  /** The engines prefill and hold KV. */
  readonly generates: boolean;
}

export type GateMaker = (site: GateSite) => Gate;

/** One band of the scenarios. */
export interface Band {
  readonly name: string;
  readonly ceiling: number;
  readonly capacity: number;
  readonly ttlMs: number;
}

/** The bands that the reference figures were taken with. */
export const BANDS: readonly Band[] = [
  { name: 'platinum', ceiling: 1.5, capacity: 512, ttlMs: 120_000 },
  { name: 'gold', ceiling: 1, capacity: 512, ttlMs: 120_000 },
  { name: 'silver', ceiling: 0.85, capacity: 512, ttlMs: 120_000 },
  { name: 'bronze', ceiling: 0.75, capacity: 512, ttlMs: 120_000 },
];
export const [PLATINUM, GOLD, SILVER, BRONZE] = [0, 1, 2, 3] as const;

export const KV_CEILING = 0.9;
