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
  #last: Kind | undefined;

  add(record: RequestRecord): void {
    // In a storm nearly all are of the kind that came before, and no key has to be made to see that.
    if (this.#last !== undefined && isAnother(this.#last.newest, record)) this.#last = count(this.#last, record);
    else this.#find(record);
  }

  /** All kinds, the newest first. */
  newest(at: Moments): Rejection[] {
    return [...this.#kinds.values()].reverse().map(({ newest, times, since }) => ({
      ...briefOf(newest, true, at),
      times,
      sinceMs: at.wallOf(since),
    }));
  }

  #find(record: RequestRecord): void {
    const { problem, cause, upstream, principal } = record;
    const why = typeof cause === 'string' ? cause : '';
    const key = `${problem ?? ''}\n${why}\n${upstream}\n${principal?.tenant ?? ''}\n${principal?.band ?? ''}`;
    const before = this.#kinds.get(key);
    this.#kinds.delete(key);
    const isKnown = before !== undefined && isRecent(before.newest, record);
    this.#last = isKnown ? count(before, record) : this.#begin(record);
    this.#kinds.set(key, this.#last);
  }

  #begin(record: RequestRecord): Kind {
    const [oldest] = this.#kinds.keys();
    if (this.#kinds.size >= MOST_KINDS && oldest !== undefined) this.#kinds.delete(oldest);
    return { newest: record, times: 1, since: record.endedAt };
  }
}

function count(kind: Kind, record: RequestRecord): Kind {
  kind.newest = record;
  kind.times += 1;
  return kind;
}

const isRecent = (before: RequestRecord, now: RequestRecord): boolean => now.endedAt - before.endedAt <= QUIET_MS;

/** Whether one is of the same kind as the one before, as far as that shows at a glance. */
const isAnother = (before: RequestRecord, now: RequestRecord): boolean =>
  before.problem === now.problem &&
  before.cause === now.cause &&
  before.upstream === now.upstream &&
  before.principal?.tenant === now.principal?.tenant &&
  before.principal?.band === now.principal?.band &&
  isRecent(before, now);

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
