import type { RequestRecord } from '../../../common/request-record.js';
import type { Moments } from './moments.js';
import { briefOf, type RequestBrief } from './request-brief.js';

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
    const { problem, upstream, principal } = record;
    const key = `${problem ?? ''}\n${upstream}\n${principal?.tenant ?? ''}\n${principal?.band ?? ''}`;
    const before = this.#kinds.get(key);
    this.#kinds.delete(key);
    if (before === undefined || record.endedAt - before.newest.endedAt > QUIET_MS) this.#begin(key, record);
    else {
      before.newest = record;
      before.times += 1;
      this.#kinds.set(key, before);
    }
  }

  /** Newest first. */
  newest(most: number, at: Moments): Rejection[] {
    const kinds = [...this.#kinds.values()].slice(-most).reverse();
    return kinds.map(({ newest, times, since }) => ({
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
