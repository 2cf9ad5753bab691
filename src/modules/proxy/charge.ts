import type { Rendering } from '../../common/rendering.js';
import type { RequestRecord } from '../../common/request-record.js';
import type { Slot } from '../admission/slot.js';
import { spentTokens } from './core/spent-tokens.js';

/** How a call has ended, besides what its rendering and its record tell. */
export interface Ending {
  /** The engine has begun to answer. */
  readonly answered: boolean;
  readonly error: Error | undefined;
}

/** Charges the caller's budget, whatever the end: what is not charged here goes back with the reservation. */
export function charge(slot: Slot, rendering: Rendering, record: RequestRecord, { answered, error }: Ending): void {
  const { upstreamOutcome: outcome } = record;
  const spent = spentTokens({
    usage: rendering.usage,
    answered,
    cancelled: outcome === 'cancelled',
    complete: error === undefined && !rendering.failed && outcome === 'ok',
    contentSeen: rendering.contentSeen,
    estimatedPromptTokens: slot.estimatedPromptTokens,
    deliveredTokens: rendering.deliveredTokens ?? 0,
  });
  if (spent === undefined) return;
  slot.reservation.settle(spent.tokens);
  if (record.tokens === undefined) return;
  record.tokens = spent.tokens;
  record.tokensEstimated = spent.estimated;
}
