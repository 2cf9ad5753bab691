import { AmongGateways } from './among-gateways.js';
import { BandActivity } from './band-activity.js';
import { EndpointChoice } from './endpoint-choice.js';
import { Grants } from './grants.js';
import { HoldUps } from './hold-ups.js';
import { PoolEndpoints } from './pool-endpoints.js';
import type { PoolPolicy } from './pool-types.js';
import { Reservation } from './reservation.js';
import type { PoolSharing } from './sharing.js';
import { TenantTotals } from './tenant-totals.js';
import { TurningAway } from './turning-away.js';
import { WaitingRoom } from './waiting-room.js';

/** What a pool is made of, put together. */
export function poolParts(policy: PoolPolicy, now: number, random: () => number, sharing: PoolSharing | undefined) {
  const room = new WaitingRoom(policy.bands.length);
  const activity = new BandActivity(policy.bands.length, now);
  const choice = new EndpointChoice(policy);
  const endpoints = new PoolEndpoints(policy.slotsPerEndpoint);
  const into = { endpoints: endpoints.byId, bands: room.bands, activity };
  /** undefined: there is no other gateway. */
  const among = sharing && new AmongGateways(sharing, into);
  return {
    ...{ policy, room, activity, choice, endpoints, among },
    reservation: new Reservation(choice),
    grants: new Grants(room, among),
    away: new TurningAway(policy, room, random),
    holdUps: new HoldUps(),
    received: policy.bands.map(() => new TenantTotals()),
  };
}

export type PoolParts = ReturnType<typeof poolParts>;
