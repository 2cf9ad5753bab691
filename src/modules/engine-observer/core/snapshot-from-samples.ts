import { COUNTERS, type CounterName, type EngineGauges, type EngineReading } from './engine-snapshot.js';
import {
  PROCESS_START,
  type CapacitySource,
  type GaugeTable,
  type SeriesSource,
  type ShareSource,
} from './gauge-table.js';
import type { Sample } from './parse-sample.js';
import { countUnusable, ofServedModel, SchedulerSeries, type BySchedulerValues } from './scheduler-series.js';

/** A reading, and what of the page could not be used for it. */
export interface SampledReading extends EngineReading {
  /** Required gauges of which the page has no series. */
  readonly missing: readonly string[];
  /** Required gauges whose series hold no number that a gauge can have. */
  readonly unreadable: readonly string[];
  /** Samples with a value that is not finite or negative, and shares above 1. */
  readonly unusableSamples: number;
}

/** Many series to one set of numbers: counts are added up over the schedulers, of shares the highest counts. */
export function readingFromSamples(
  table: GaugeTable,
  samples: readonly Sample[],
  servedNames: readonly string[] = [],
): SampledReading {
  const own = ofServedModel(samples, servedNames);
  const series = new SchedulerSeries(own, table.schedulerLabel);
  const shares = firstUsable(table.kvUsage, (source) => sharesOf(series, source));
  const gauges = gaugesFrom(table, series, shares);
  const required = table.required.filter((name) => gauges[name] === undefined);
  return {
    gauges,
    bootMark: bootMarkOf(series),
    missing: required.filter((name) => !table[name].some(({ family }) => series.has(family))).map(firstFamily(table)),
    unreadable: required.filter((name) => table[name].some(({ family }) => series.has(family))).map(firstFamily(table)),
    unusableSamples: countUnusable(own) + shares.filter((share) => share > 1).length,
  };
}

const firstFamily =
  (table: GaugeTable) =>
  (name: 'running' | 'waiting'): string =>
    table[name][0]?.family ?? name;

function gaugesFrom(table: GaugeTable, series: SchedulerSeries, shares: readonly number[]): EngineGauges {
  const running = firstSum(series, table.running);
  const waiting = firstSum(series, table.waiting);
  const capacities = firstUsable(table.kvCapacityTokens, (source) => capacitiesOf(series, source));
  const clamped = shares.map((share) => Math.min(share, 1));
  return known({
    running,
    waiting,
    waitingCapacity: firstSum(series, table.waitingCapacity) ?? waiting,
    kvUsage: clamped.length === 0 ? undefined : Math.max(...clamped),
    kvUsageMean: clamped.length === 0 ? undefined : sum(clamped) / clamped.length,
    kvCapacityTokens: capacities.length === 0 ? undefined : Math.min(...capacities),
    schedulers: schedulersOf(table, series),
    ...countersFrom(table, series),
  });
}

type Unchecked<T> = { readonly [Key in keyof T]: T[Key] | undefined };

/** What is unknown is left out. */
function known(gauges: Unchecked<EngineGauges>): EngineGauges {
  return Object.fromEntries(Object.entries(gauges).filter(([, value]) => value !== undefined));
}

function countersFrom(table: GaugeTable, series: SchedulerSeries): Partial<Unchecked<Record<CounterName, number>>> {
  const entries = COUNTERS.map((name) => {
    const families = table.counters[name] ?? [];
    const sources = families.map((family) => ({ family }));
    return [name, firstSum(series, sources)] as const;
  });
  return Object.fromEntries(entries);
}

/** Of the first source that every scheduler has a number for. */
function firstSum(series: SchedulerSeries, sources: readonly SeriesSource[]): number | undefined {
  for (const { family, label, plus = [] } of sources) {
    const parts = [
      series.valuesOf(family, label),
      ...plus.filter((more) => series.has(more)).map((more) => series.valuesOf(more)),
    ];
    const total = totalOf(parts.map(totalOfSchedulers));
    if (total !== undefined) return total;
  }
  return undefined;
}

const totalOfSchedulers = (values: BySchedulerValues): number | undefined => totalOf([...values.values()]);

/** A sum with a hole in it would be too small, so there is none. */
function totalOf(parts: readonly (number | undefined)[]): number | undefined {
  const usable = parts.filter((part) => part !== undefined);
  return parts.length === 0 || usable.length < parts.length ? undefined : sum(usable);
}

function firstUsable<Source>(
  sources: readonly Source[],
  read: (source: Source) => readonly number[],
): readonly number[] {
  return sources.map(read).find((values) => values.length > 0) ?? [];
}

/** One for each scheduler that says it; a share above 1 is left as it is. */
function sharesOf(series: SchedulerSeries, { family, over }: ShareSource): readonly number[] {
  const values = series.valuesOf(family);
  if (over === undefined) return usableOf(values);
  const totals = series.valuesOf(over);
  return [...values].flatMap(([scheduler, used]) => {
    const total = totals.get(scheduler);
    return used === undefined || total === undefined || total === 0 ? [] : [used / total];
  });
}

function capacitiesOf(series: SchedulerSeries, { family, product }: CapacitySource): readonly number[] {
  if (product === undefined) return usableOf(series.valuesOf(family)).filter((tokens) => tokens > 0);
  return series.samplesOf(family).flatMap(({ labels }) => {
    const [blocks, tokens] = product.map((label) => wholeFrom(labels.get(label)));
    return blocks === undefined || tokens === undefined ? [] : [blocks * tokens];
  });
}

/** Labels hold text, and some of it is `None`. */
function wholeFrom(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,11}$/u.test(text) ? Number(text) : undefined;
}

function schedulersOf(table: GaugeTable, series: SchedulerSeries): number | undefined {
  const source = [...table.running, ...table.waiting].find(({ family }) => series.has(family));
  return source === undefined ? undefined : series.valuesOf(source.family).size;
}

function bootMarkOf(series: SchedulerSeries): string | undefined {
  const starts = series.samplesOf(PROCESS_START).map(({ value }) => value);
  return starts.length === 0 ? undefined : String(Math.max(...starts));
}

const usableOf = (values: BySchedulerValues): number[] => [...values.values()].filter((value) => value !== undefined);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
