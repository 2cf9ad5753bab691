import type { CounterName, GaugeName } from './engine-snapshot.js';

/** A family, or those of its series that carry a label. Names are exact: one name often begins another. */
export interface SeriesSource {
  readonly family: string;
  readonly label?: readonly [name: string, value: string];
  /** Added where they exist. */
  readonly plus?: readonly string[];
}

/** A share from 0 to 1: a family that holds it, or two whose quotient it is. */
export interface ShareSource {
  readonly family: string;
  readonly over?: string;
}

/** A number of tokens: a family's value, or the product of two numbers in its labels. */
export interface CapacitySource {
  readonly family: string;
  readonly product?: readonly [string, string];
}

/** Where a kind of engine says what. Of several sources, the first that has a usable value counts. */
export interface GaugeTable {
  /** Tells the schedulers apart. Absent: there is one. */
  readonly schedulerLabel?: string;
  /** Without one of these a poll has failed. */
  readonly required: readonly ('running' | 'waiting')[];
  /** What every release that is in use has; without one of these the gate sees less than it should. */
  readonly expected: readonly GaugeName[];
  readonly running: readonly SeriesSource[];
  readonly waiting: readonly SeriesSource[];
  readonly waitingCapacity: readonly SeriesSource[];
  readonly kvUsage: readonly ShareSource[];
  readonly kvCapacityTokens: readonly CapacitySource[];
  readonly counters: Partial<Readonly<Record<CounterName, readonly string[]>>>;
  /** A response header that changes with every start. */
  readonly bootHeader?: string;
}

/** When the process started, as the common client libraries say it. */
export const PROCESS_START = 'process_start_time_seconds';

/** Every family that is read. */
export function familiesOf(table: GaugeTable): ReadonlySet<string> {
  const series = [...table.running, ...table.waiting, ...table.waitingCapacity];
  return new Set([
    PROCESS_START,
    ...series.flatMap(({ family, plus = [] }) => [family, ...plus]),
    ...table.kvUsage.flatMap(({ family, over }) => (over === undefined ? [family] : [family, over])),
    ...table.kvCapacityTokens.map(({ family }) => family),
    ...Object.values(table.counters).flat(),
  ]);
}
