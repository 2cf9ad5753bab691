import type { RequestRecord } from '../../../common/request-record.js';
import type { Moments } from './moments.js';
import { briefOf, type RequestBrief } from './request-brief.js';

/** The newest of rejections that look alike. */
export interface Rejection extends RequestBrief {
  /** How many there were, one after the other. */
  readonly times: number;
  /** When the first of them ended, in milliseconds since 1970. */
  readonly sinceMs: number;
}

const alike = (a: RequestBrief, b: RequestBrief): boolean =>
  a.reason === b.reason && a.upstream === b.upstream && a.tenant === b.tenant && a.band === b.band;

/** `records`: newest first. A storm of retries becomes one line. */
export function rejectionsOf(records: Iterable<RequestRecord>, at: Moments, most: number): Rejection[] {
  const told: Rejection[] = [];
  for (const record of records) {
    const brief = briefOf(record, true, at);
    const last = told.at(-1);
    const sinceMs = at.wallOf(record.endedAt);
    if (last !== undefined && alike(last, brief)) told[told.length - 1] = { ...last, times: last.times + 1, sinceMs };
    else if (told.length === most) break;
    else told.push({ ...brief, times: 1, sinceMs });
  }
  return told;
}
