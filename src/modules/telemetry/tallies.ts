import type { Registry } from 'prom-client';
import { LabelTree, type Labels } from './core/label-tree.js';
import { SERIES, type CounterName, type GaugeName, type HistogramName } from './series.js';

interface Sample {
  readonly metricName?: string;
  readonly labels: Record<string, string | number>;
  readonly value: number;
}

/**
 * A metric that is counted in plain numbers and put into words only when somebody reads. A caller looks its cell up
 * once and keeps it: counting then costs an addition, not a hash of label texts.
 */
abstract class Tally<Cell> {
  readonly aggregator = 'sum';
  readonly #cells = new LabelTree<Cell>();

  constructor(
    readonly name: string,
    readonly help: string,
    readonly labelNames: readonly string[],
  ) {}

  /** The cell of a series, made at its first use. */
  cell(...labels: string[]): Cell {
    return this.#cells.get(labels, this.#newCell);
  }

  /** What prom-client's registry asks of a metric when it is read. */
  get(): Promise<object> {
    const values = this.#cells.all().flatMap(({ labels, value }) => this.samplesOf(this.#named(labels), value));
    return Promise.resolve({ name: this.name, help: this.help, type: this.type, aggregator: this.aggregator, values });
  }

  reset(): void {
    this.#cells.clear();
  }

  abstract readonly type: string;
  protected abstract newCell(): Cell;
  protected abstract samplesOf(labels: Record<string, string>, cell: Cell): Sample[];

  readonly #newCell = (): Cell => this.newCell();

  #named(labels: Labels): Record<string, string> {
    return Object.fromEntries(this.labelNames.map((name, i) => [name, labels[i] ?? '']));
  }
}

/** The count of one series. */
export class CounterCell {
  value = 0;

  add(amount: number): void {
    this.value += amount;
  }
}

export class CounterTally extends Tally<CounterCell> {
  readonly type = 'counter';

  protected newCell(): CounterCell {
    return new CounterCell();
  }

  protected samplesOf(labels: Record<string, string>, { value }: CounterCell): Sample[] {
    return [{ labels, value }];
  }
}

/** The observations of one series. */
export class HistogramCell {
  readonly counts: number[];
  sum = 0;
  count = 0;

  constructor(readonly bounds: readonly number[]) {
    this.counts = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.sum += value;
    this.count += 1;
    const { bounds, counts } = this;
    for (let i = 0; i < bounds.length; i += 1) {
      if (value <= (bounds[i] ?? 0)) {
        counts[i] = (counts[i] ?? 0) + 1;
        return;
      }
    }
  }
}

export class HistogramTally extends Tally<HistogramCell> {
  readonly type = 'histogram';

  constructor(
    name: string,
    help: string,
    labelNames: readonly string[],
    private readonly bounds: readonly number[],
  ) {
    super(name, help, labelNames);
  }

  protected newCell(): HistogramCell {
    return new HistogramCell(this.bounds);
  }

  protected samplesOf(labels: Record<string, string>, cell: HistogramCell): Sample[] {
    let below = 0;
    const buckets = this.bounds.map((le, i): Sample => {
      below += cell.counts[i] ?? 0;
      return { metricName: `${this.name}_bucket`, labels: { ...labels, le }, value: below };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_bucket`, labels: { ...labels, le: '+Inf' }, value: cell.count },
      { metricName: `${this.name}_sum`, labels, value: cell.sum },
      { metricName: `${this.name}_count`, labels, value: cell.count },
    ];
  }
}

/** One value, as it is when somebody reads. */
export interface LiveValue {
  readonly labels: Record<string, string>;
  readonly value: number;
  /** When it was learnt, on the machine's clock: of several processes the last one to learn it is right. */
  readonly atMs?: number;
}

/** A metric that is read where it lives: a series whose subject has gone is gone with it. */
export class LiveMetric {
  readonly aggregator = 'sum';

  constructor(
    readonly name: string,
    readonly help: string,
    readonly type: 'gauge' | 'counter',
    private readonly read: () => readonly LiveValue[],
  ) {}

  get(): Promise<object> {
    return Promise.resolve({
      name: this.name,
      help: this.help,
      type: this.type,
      aggregator: this.aggregator,
      values: this.read(),
    });
  }

  /** There is nothing of its own to set back. */
  reset(): void {
    // What is read lives elsewhere.
  }
}

/** Makes a tally part of what a registry shows. */
export function registerTally<T extends CounterTally | HistogramTally | LiveMetric>(registry: Registry, tally: T): T {
  // The registry needs a name and get(); its type names the library's own classes.
  registry.registerMetric(tally as unknown as Parameters<Registry['registerMetric']>[0]);
  return tally;
}

/** The counter of that name in the list of series. */
export function registerCounter(registry: Registry, name: CounterName): CounterTally {
  const { help, labels } = SERIES[name];
  return registerTally(registry, new CounterTally(name, help, labels));
}

/** The histogram of that name in the list of series. */
export function registerHistogram(registry: Registry, name: HistogramName): HistogramTally {
  const { help, labels, bounds } = SERIES[name];
  return registerTally(registry, new HistogramTally(name, help, labels, bounds));
}

/** The gauge or counter of that name in the list of series, read where it lives. */
export function registerLive(
  registry: Registry,
  name: GaugeName | CounterName,
  read: () => readonly LiveValue[],
): LiveMetric {
  const { help, type } = SERIES[name];
  return registerTally(registry, new LiveMetric(name, help, type, read));
}
