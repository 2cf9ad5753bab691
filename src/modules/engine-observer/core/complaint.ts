import type { PageVerdict } from './page-reader.js';

/** What is wrong with an engine's gauges, as an operator wants to hear it. */
export interface Complaint {
  /** The same as long as the same is wrong. */
  readonly key: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * After a poll. An engine that did not answer is no complaint until its gauges are stale: `before` stands until then.
 * undefined: nothing is wrong.
 */
export function complaintAfter(
  verdict: PageVerdict,
  stale: boolean,
  before: Complaint | undefined,
): Complaint | undefined {
  if (verdict.ok)
    return verdict.gaps.length === 0
      ? undefined
      : complaint(`missing ${verdict.gaps.join()}`, false, { missing: verdict.gaps });
  const { fault, detail } = verdict;
  const answered = fault !== 'connect' && fault !== 'timeout';
  if (answered) return complaint(fault, stale, { reason: fault, detail });
  // Refused now, too late then: to the operator that is one thing.
  return stale ? complaint('unanswered', stale, { reason: fault, detail }) : before;
}

const complaint = (what: string, stale: boolean, fields: Complaint['fields']): Complaint => ({
  key: `${stale ? 'stale' : 'degraded'} ${what}`,
  fields: { ...fields, stale },
});
