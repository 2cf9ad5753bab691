/** What is noted of an upstream at each sample, in this order. */
export const SERIES = ['running', 'waiting', 'saturation', 'kv', 'served', 'rejected', 'firstMs'] as const;
export type SeriesName = (typeof SERIES)[number];

/** One number a series; null: not known then. */
export type Sample = readonly (number | null)[];

/** By upstream. */
export type Samples = Readonly<Record<string, Sample>>;

/** The newest sample of each upstream. */
export interface SampleRow {
  readonly index: number;
  readonly upstreams: Samples;
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

/** The last `size` samples of each upstream, `everyMs` apart. */
export class SampleRing {
  readonly #rows: (SampleRow | undefined)[];
  #newest = -1;

  constructor(
    readonly upstreams: readonly string[],
    private readonly everyMs: number,
    private readonly size: number,
  ) {
    this.#rows = Array.from({ length: size });
  }

  /** One that falls on the last one's place is left out: the clock was set back, or the timer was early. */
  put(samples: () => Samples, wallMs: number): void {
    const index = Math.floor(wallMs / this.everyMs);
    if (index <= this.#newest) return;
    this.#newest = index;
    this.#rows[index % this.size] = { index, upstreams: samples() };
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
}
