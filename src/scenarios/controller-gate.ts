import { Pool } from '../modules/admission/core/pool.js';
import type { PoolPolicy, TestName } from '../modules/admission/core/pool-types.js';
import { BANDS, GOLD, KV_CEILING, type GateMaker, type GateSite } from './gate.js';

/** What a variant of the controller does differently. */
export interface ControllerVariant {
  readonly strictReserve?: boolean;
  readonly without?: readonly TestName[];
  readonly maxParkMs?: number;
  /** Of every band. */
  readonly ttlMs?: number;
}

/** The admission controller, as a configuration with these bands sets it up. */
export const controller =
  (variant: ControllerVariant = {}): GateMaker =>
  (site) =>
    new Pool(controllerPolicy(site, variant), site.clock, site.random);

export function controllerPolicy({ slots, endpoints, generates }: GateSite, variant: ControllerVariant): PoolPolicy {
  const { strictReserve = false, without = [], maxParkMs = 120_000, ttlMs } = variant;
  const perEndpoint = Math.ceil(slots * Math.max(...BANDS.map(({ ceiling }) => ceiling)));
  return {
    name: 'engines',
    bands: ttlMs === undefined ? BANDS : BANDS.map((band) => ({ ...band, ttlMs })),
    defaultBand: GOLD,
    limit: perEndpoint * endpoints,
    slotsPerEndpoint: slots,
    retryAfterMs: 5_000,
    strictReserve,
    generates,
    gauges: { kvCeiling: KV_CEILING, maxInflight: perEndpoint, maxParkMs },
    without: new Set(without),
  };
}
