import type { ClaimStore } from './shared-ledger.js';

/** One pool among those of several gateways. */
export interface PoolSharing {
  /** Which gateway this is, from 0, and of how many. */
  readonly index: number;
  readonly gateways: number;
  /** Anew at every start of this gateway. */
  readonly epoch: string;
  /** Milliseconds between two readings of an engine's gauges. */
  readonly readEveryMs: number;
  /** Wall time: the only one that all gateways agree upon. */
  wallTime(): number;
  /** A tenant's name for the others: a keyed hash. Where nobody is told anything, the name itself. */
  tenantKey(tenant: string): string;
  /** Confirms every place before it is used; absent: nobody does. */
  readonly store?: ClaimStore;
  /** All others are asked once a second what they have, and tell. */
  told(): boolean;
  /** Now, the store counts, and what others hold is known with every change: nobody has to keep to a share. */
  live(): boolean;
  /** Something has changed that the others are told. Called often: whoever sends it puts several together. */
  changed?(): void;
}
