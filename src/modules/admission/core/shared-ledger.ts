import type { WorkClass } from './pool-types.js';

/**
 * What one gateway tells the others of one pool. Ages instead of times, for no two gateways share a monotonic clock;
 * tenants as a keyed hash; no ids of requests and no content.
 */
export interface SharedLedger {
  /** Anew at every start of that gateway: its totals count from there. */
  readonly epoch: string;
  readonly leases: readonly SharedLease[];
  /**
   * By band: every tenant whose service is counted there, and what it has received since its count began, in token
   * equivalents; a refund takes some back. A tenant that has gone from the list begins anew when it is served again. No
   * band at all: this time nothing is told of it, and nothing has changed.
   */
  readonly service: readonly (readonly (readonly [tenant: string, total: number])[])[];
  /** For each of `service`, in the same places: which count it is. Absent: a gateway of an earlier version. */
  readonly starts?: readonly (readonly number[])[];
  /** One entry for each band, tenant and class that waits there. */
  readonly backlog: readonly SharedBacklog[];
  /** The endpoint that it keeps clear for one of its requests; absent: there is none. */
  readonly kept?: SharedKept;
  /** Since the highest band was last asked for, and a long prompt last granted; absent: never. */
  readonly topBandAgoMs?: number;
  readonly longAgoMs?: number;
}

export interface SharedKept {
  readonly endpoint: string;
  readonly band: number;
  readonly places: number;
  /** How long that request has waited. */
  readonly waitedMs: number;
}

export interface SharedLease {
  readonly endpoint: string;
  readonly band: number;
  readonly kind: WorkClass;
  readonly places: number;
  readonly kvTokens: number;
  readonly promptTokens: number;
  readonly estimateMs: number;
  readonly grantedAgoMs: number;
  /** Absent: its prefill is not over. */
  readonly firstTokenAgoMs?: number;
}

export interface SharedBacklog {
  readonly band: number;
  readonly kind: WorkClass;
  readonly tenant: string;
  /** Service that its tenant has had, as that gateway counts it: its place in the order. */
  readonly counter: number;
  /** How long its oldest request has waited. */
  readonly waitedMs: number;
  /** It is room that is wanting, not a test of another kind: a place that is left free will be taken. */
  readonly wantsPlace: boolean;
}

/** A place that is about to be taken, as an exact store counts it. */
export interface Claim {
  /** Unique over all gateways. */
  readonly id: string;
  readonly lease: SharedLease;
  /** Most places at the endpoint, and over all of them, that may be taken with this one. */
  readonly endpointPlaces: number;
  readonly poolPlaces: number;
  /** Most KV tokens that may be set aside at the endpoint with this one; absent: unknown. */
  readonly endpointKvTokens?: number;
  /** Its endpoint was seen idle: it passes if that is so, whatever the limits. */
  readonly whenIdle: boolean;
}

/** Where places are counted for all gateways at once. One that is out lets every claim pass and says so elsewhere. */
export interface ClaimStore {
  /** Takes the place if it is there. A store in this process answers at once, another one with a promise. */
  claim(claim: Claim): boolean | Promise<boolean>;
  /** Idempotent. */
  release(id: string): void;
}
