import type { RequestRecord } from '../../../common/request-record.js';
import { SampleRing, type HistoryPages, type Sample, type SampleRow } from './sample-ring.js';

/** What an upstream looks like at a moment. */
export interface Level {
  readonly upstream: string;
  readonly running: number;
  readonly waiting: number;
  readonly saturation: number;
  /** Of the fullest engine; undefined: nobody says. */
  readonly kv: number | undefined;
}

/** As the record names it: of a request that was turned away before it was known where it would go. */
export const NO_UPSTREAM = 'none';
const NOTHING_THERE = { running: 0, waiting: 0, saturation: 0, kv: undefined };

/** What was counted since the last sample. */
class Tally {
  /** Answered by the engine, and taken by the client to the end. */
  served = 0;
  /** Turned away, or failed. */
  rejected = 0;
  /** The longest time to the first content, in ms. */
  firstMs: number | undefined;
}

/** The last minutes of each upstream. */
export class History {
  readonly #ring: SampleRing;
  readonly #tallies = new Map<string, Tally>();

  constructor(upstreams: readonly string[], everyMs: number, size: number) {
    this.#ring = new SampleRing([...upstreams, NO_UPSTREAM], everyMs, size);
    for (const name of this.#ring.upstreams) this.#tallies.set(name, new Tally());
  }

  /** A request has ended. */
  count(record: RequestRecord): void {
    const tally = this.#tallies.get(record.upstream);
    if (tally === undefined) return;
    if (record.problem !== undefined) tally.rejected += 1;
    // What needs no upstream (a list of models, a probe) is nothing that was asked of this gateway's engines.
    else if (!record.clientGone && record.upstream !== NO_UPSTREAM) tally.served += 1;
    if (record.firstContentAt === undefined) return;
    const firstMs = record.firstContentAt - record.arrivedAt;
    if (tally.firstMs === undefined || firstMs > tally.firstMs) tally.firstMs = firstMs;
  }

  /** Takes a sample. */
  sample(levels: readonly Level[], wallMs: number): void {
    const levelOf = new Map(levels.map((level) => [level.upstream, level]));
    const sampleOf = (name: string) => [name, this.#sampleOf(name, levelOf.get(name))] as const;
    this.#ring.put(() => Object.fromEntries(this.#ring.upstreams.map(sampleOf)), wallMs);
  }

  /** undefined: none has been taken. */
  get newest(): SampleRow | undefined {
    return this.#ring.newest;
  }

  pages(): HistoryPages {
    return this.#ring.pages();
  }

  #sampleOf(upstream: string, level: Omit<Level, 'upstream'> = NOTHING_THERE): Sample {
    const { running, waiting, saturation, kv } = level;
    const tally = this.#tallies.get(upstream) ?? new Tally();
    this.#tallies.set(upstream, new Tally());
    const first = tally.firstMs === undefined ? null : Math.round(tally.firstMs);
    const numbers = [running, waiting, short(saturation), kv === undefined ? null : short(kv)];
    return [...numbers, tally.served, tally.rejected, first];
  }
}

/** Three digits are more than a plot shows. */
const short = (value: number): number => Math.round(value * 1000) / 1000;
