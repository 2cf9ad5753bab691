import { topic } from '../workers/line.js';
import type { Claim, SharedLedger } from './core/shared-ledger.js';

/** One step at the store of a pool. */
export type ClaimStep =
  { readonly pool: string; readonly claim: Claim } | { readonly pool: string; readonly release: string };

/** In the order in which they were taken. */
export const CLAIM_STEPS = topic<readonly ClaimStep[]>('claim-steps');
export const CLAIMED = topic<readonly (readonly [id: string, taken: boolean])[]>('claimed');

/** What a worker has to say of its pools that have changed. */
export const OWN_LEDGERS = topic<Ledgers>('own-ledgers');
/** The same to its siblings; `ledgers` absent: that one has gone. */
export const SIBLING = topic<{ readonly peer: string; readonly ledgers?: Ledgers }>('sibling');
/** Somebody wants to be told, from now on. */
export const WATCH_SIBLINGS = topic<null>('watch-siblings');

export type Ledgers = Readonly<Record<string, SharedLedger>>;
