import type { PoolView } from './admission-tests.js';
import type { EndpointLedger } from './endpoint-ledger.js';
import type { PoolParts } from './pool-parts.js';

/** What the tests see of a pool. */
export function poolView({ policy, room, activity, reservation, among, endpoints }: PoolParts, now: number): PoolView {
  const { ordered } = endpoints;
  return {
    policy,
    now,
    endpoints: ordered,
    lane: ordered.find(({ downUntil }) => now >= downUntil) ?? ordered[0],
    topBandAround: activity.topBandAround(now),
    longWaits: room.longWaits || among?.peers.longWaits === true,
    reserved: reservation.kept,
    share: among?.share,
    starved: (band) =>
      activity.isStarved(band, room.bands[band]?.candidates()[0], now) &&
      (among === undefined || !runsElsewhere(band, ordered)),
  };
}

const runsElsewhere = (band: number, endpoints: readonly EndpointLedger[]): boolean =>
  endpoints.some(({ leases }) => [...leases].some((lease) => lease.remote && lease.band === band));
