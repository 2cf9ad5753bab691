import { NO_UPSTREAM } from './history.js';
import { SampleRing, SERIES, type HistoryPages, type Sample, type SampleRow, type SeriesName } from './sample-ring.js';

/** What each process has of its own is added up; of the rest, which all see alike or nearly so, the largest counts. */
const ADDED: ReadonlySet<SeriesName> = new Set<SeriesName>(['running', 'waiting', 'served', 'rejected']);
/** What has happened since the sample before: it counts once, whenever it arrives. */
const COUNTED: ReadonlySet<SeriesName> = new Set<SeriesName>(['served', 'rejected', 'firstMs']);

/** The last minutes of several processes as those of one; what one of them has told stays when it goes. */
export class SummedHistory<Process> {
  readonly #ring: SampleRing;
  /** What each process looked like when it told last. */
  readonly #last = new Map<Process, SampleRow>();
  #arrived: SampleRow[] = [];

  constructor(upstreams: readonly string[], everyMs: number, size: number) {
    this.#ring = new SampleRing([...upstreams, NO_UPSTREAM], everyMs, size);
  }

  /** Takes a sample of a process. */
  take(process: Process, row: SampleRow): void {
    this.#last.set(process, row);
    this.#arrived.push(row);
  }

  /** Nothing runs or waits there any more. */
  leave(process: Process): void {
    this.#last.delete(process);
  }

  /** Puts together what has come since the last time. */
  sample(wallMs: number): void {
    const [levels, counts] = [[...this.#last.values()], this.#arrived];
    this.#ring.put(() => {
      this.#arrived = [];
      return Object.fromEntries(this.#ring.upstreams.map((name) => [name, sumOf(name, levels, counts)]));
    }, wallMs);
  }

  /** undefined: none has been taken. */
  get newest(): SampleRow | undefined {
    return this.#ring.newest;
  }

  pages(): HistoryPages {
    return this.#ring.pages();
  }
}

function sumOf(upstream: string, levels: readonly SampleRow[], counts: readonly SampleRow[]): Sample {
  return SERIES.map((name, at) => {
    const rows = COUNTED.has(name) ? counts : levels;
    const values = rows
      .map(({ upstreams }) => upstreams[upstream]?.[at])
      .filter((one) => one !== null && one !== undefined);
    if (ADDED.has(name)) return values.reduce((sum, one) => sum + one, 0);
    if (values.length === 0) return null;
    // What others have told may have come to nothing since: who sees the least is nearest to how it is.
    return name === 'saturation' ? Math.min(...values) : Math.max(...values);
  });
}
