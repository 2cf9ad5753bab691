import type { RequestRecord } from '../../../common/request-record.js';
import type { Moments } from './moments.js';
import { briefOf, endOf, type RequestBrief } from './request-brief.js';

/** Kinds of rejection that are remembered: the one that has been quiet for longest goes first. */
const MOST_KINDS = 64;
/** A kind that has been quiet for so long begins anew. */
const QUIET_MS = 600_000;

/** The newest of rejections that look alike: same reason, upstream, tenant and band. */
export interface Rejection extends RequestBrief {
  /** How many there were. */
  readonly times: number;
  /** When the first of them ended, in milliseconds since 1970. */
  readonly sinceMs: number;
}

interface Kind {
  newest: RequestRecord;
  times: number;
  since: number;
}

/** What was turned away, by kind: a storm of retries is one of them, and drives no other out. */
export class RejectionBook {
  /** The one that came last stands last. */
  readonly #kinds = new Map<string, Kind>();

  add(record: RequestRecord): void {
    const { problem, cause, upstream, principal } = record;
    const why = typeof cause === 'string' ? cause : '';
    const key = `${problem ?? ''}\n${why}\n${upstream}\n${principal?.tenant ?? ''}\n${principal?.band ?? ''}`;
    const before = this.#kinds.get(key);
    this.#kinds.delete(key);
    if (before === undefined || record.endedAt - before.newest.endedAt > QUIET_MS) this.#begin(key, record);
    else {
      before.newest = record;
      before.times += 1;
      this.#kinds.set(key, before);
    }
  }

  /** All kinds, the newest first. */
  newest(at: Moments): Rejection[] {
    return [...this.#kinds.values()].reverse().map(({ newest, times, since }) => ({
      ...briefOf(newest, true, at),
      times,
      sinceMs: at.wallOf(since),
    }));
  }

  #begin(key: string, record: RequestRecord): void {
    const [oldest] = this.#kinds.keys();
    if (this.#kinds.size >= MOST_KINDS && oldest !== undefined) this.#kinds.delete(oldest);
    this.#kinds.set(key, { newest: record, times: 1, since: record.endedAt });
  }
}

const kindOf = ({ reason, why, upstream, tenant, band }: Rejection): string =>
  JSON.stringify([reason, why, upstream, tenant, band]);

/** The rejections of several processes as those of one. */
export function summedRejections(lists: readonly (readonly Rejection[])[]): Rejection[] {
  const kinds = new Map<string, Rejection>();
  for (const one of lists.flat()) {
    const before = kinds.get(kindOf(one));
    if (before === undefined) kinds.set(kindOf(one), one);
    else {
      const newer = endOf(one) > endOf(before) ? one : before;
      const [times, sinceMs] = [before.times + one.times, Math.min(before.sinceMs, one.sinceMs)];
      kinds.set(kindOf(one), { ...newer, times, sinceMs });
    }
  }
  return [...kinds.values()].sort((a, b) => endOf(b) - endOf(a));
}
