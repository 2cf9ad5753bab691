import type { RequestRecord } from '../../../common/request-record.js';

/** What is noted of an upstream at each sample, in this order. */
export const SERIES = ['running', 'waiting', 'saturation', 'kv', 'served', 'rejected', 'firstMs'] as const;
export type SeriesName = (typeof SERIES)[number];

/** One number a series; null: not known then. */
export type Sample = readonly (number | null)[];

/** What an upstream looks like at a moment. */
export interface Level {
  readonly upstream: string;
  readonly running: number;
  readonly waiting: number;
  readonly saturation: number;
  /** Of the fullest engine; undefined: nobody says. */
  readonly kv: number | undefined;
}

/** All that is remembered. Samples lie on a grid of the wall clock, so that those of several gateways can be added. */
export interface HistoryPages {
  readonly everyMs: number;
  readonly series: readonly SeriesName[];
  /** Of the last sample: its time is `newest * everyMs`, in milliseconds since 1970. */
  readonly newest: number;
  /** Oldest first; by upstream, a sample or null for a moment that was missed. */
  readonly upstreams: Readonly<Record<string, readonly (Sample | null)[]>>;
}

/** The newest sample of each upstream. */
export interface SampleRow {
  readonly index: number;
  readonly upstreams: Readonly<Record<string, Sample>>;
}

/** What was counted since the last sample. */
class Tally {
  /** Answered by the engine, and taken by the client to the end. */
  served = 0;
  /** Turned away, or failed. */
  rejected = 0;
  /** The longest time to the first content, in ms. */
  firstMs: number | undefined;
}

/** The last minutes of each upstream, in a ring: `size` samples, `everyMs` apart. */
export class History {
  readonly #tallies = new Map<string, Tally>();
  readonly #rows: (SampleRow | undefined)[];
  #newest = -1;

  constructor(
    private readonly upstreams: readonly string[],
    private readonly everyMs: number,
    private readonly size: number,
  ) {
    this.#rows = Array.from({ length: size });
    for (const name of upstreams) this.#tallies.set(name, new Tally());
  }

  /** A request has ended. */
  count(record: RequestRecord): void {
    const tally = this.#tallies.get(record.upstream);
    if (tally === undefined) return;
    if (record.problem !== undefined) tally.rejected += 1;
    else if (!record.clientGone) tally.served += 1;
    if (record.firstContentAt === undefined) return;
    const firstMs = record.firstContentAt - record.arrivedAt;
    if (tally.firstMs === undefined || firstMs > tally.firstMs) tally.firstMs = firstMs;
  }

  /** Takes a sample. One that falls on the last one's place is left out: the clock was set back, or the timer was early. */
  sample(levels: readonly Level[], wallMs: number): void {
    const index = Math.floor(wallMs / this.everyMs);
    if (index <= this.#newest) return;
    this.#newest = index;
    this.#rows[index % this.size] = { index, upstreams: Object.fromEntries(levels.map((one) => this.#sampleOf(one))) };
  }

  /** undefined: none has been taken. */
  get newest(): SampleRow | undefined {
    return this.#newest < 0 ? undefined : this.#rows[this.#newest % this.size];
  }

  pages(): HistoryPages {
    const rows = this.#inOrder();
    return {
      everyMs: this.everyMs,
      series: SERIES,
      newest: Math.max(0, this.#newest),
      upstreams: Object.fromEntries(
        this.upstreams.map((name) => [name, rows.map((row) => row?.upstreams[name] ?? null)]),
      ),
    };
  }

  /** From the oldest that there is; a moment that was missed is a hole. */
  #inOrder(): (SampleRow | undefined)[] {
    const rows: (SampleRow | undefined)[] = [];
    for (let index = Math.max(0, this.#newest - this.size + 1); index <= this.#newest; index += 1) {
      const row = this.#rows[index % this.size];
      const there = row?.index === index ? row : undefined;
      if (there !== undefined || rows.length > 0) rows.push(there);
    }
    return rows;
  }

  #sampleOf({ upstream, running, waiting, saturation, kv }: Level): readonly [string, Sample] {
    const tally = this.#tallies.get(upstream) ?? new Tally();
    this.#tallies.set(upstream, new Tally());
    const first = tally.firstMs === undefined ? null : Math.round(tally.firstMs);
    const numbers = [running, waiting, short(saturation), kv === undefined ? null : short(kv)];
    return [upstream, [...numbers, tally.served, tally.rejected, first]];
  }
}

/** Three digits are more than a plot shows. */
const short = (value: number): number => Math.round(value * 1000) / 1000;
