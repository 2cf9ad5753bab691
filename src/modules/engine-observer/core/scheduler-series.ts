import type { Sample } from './parse-sample.js';

/** A number for each scheduler. undefined: its series say something that is no count or share (NaN, infinite, negative). */
export type BySchedulerValues = ReadonlyMap<string, number | undefined>;

const isUsable = (value: number): boolean => Number.isFinite(value) && value >= 0;

/**
 * The samples of one page by family, and within a family by scheduler. Processes and ranks of one scheduler (`pid`,
 * `tp_rank`, `pp_rank` …) tell of the same requests, and some of them say 0: the largest value stands for all.
 */
export class SchedulerSeries {
  readonly #byFamily = new Map<string, Sample[]>();

  constructor(
    samples: readonly Sample[],
    private readonly schedulerLabel: string | undefined,
  ) {
    for (const sample of samples) {
      const same = this.#byFamily.get(sample.name);
      if (same === undefined) this.#byFamily.set(sample.name, [sample]);
      else same.push(sample);
    }
  }

  has(family: string): boolean {
    return this.#byFamily.has(family);
  }

  samplesOf(family: string): readonly Sample[] {
    return this.#byFamily.get(family) ?? [];
  }

  /** Only series that carry the label, where one is given. */
  valuesOf(family: string, label?: readonly [name: string, value: string]): BySchedulerValues {
    const found = new Map<string, number | undefined>();
    for (const sample of this.samplesOf(family)) {
      if (label !== undefined && sample.labels.get(label[0]) !== label[1]) continue;
      const scheduler = this.#schedulerOf(sample);
      found.set(scheduler, larger(found.get(scheduler), isUsable(sample.value) ? sample.value : undefined));
    }
    return found;
  }

  /** Two models of one engine are counted apart. */
  #schedulerOf({ labels }: Sample): string {
    const scheduler = this.schedulerLabel === undefined ? '' : (labels.get(this.schedulerLabel) ?? '');
    return JSON.stringify([scheduler, labels.get('model_name') ?? '']);
  }
}

function larger(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.max(a, b);
}

/** Series of the model that is asked for; all of them, where none carries one of its names. */
export function ofServedModel(samples: readonly Sample[], servedNames: readonly string[]): readonly Sample[] {
  const isServed = ({ labels }: Sample): boolean => servedNames.includes(labels.get('model_name') ?? '');
  if (!samples.some(isServed)) return samples;
  return samples.filter((sample) => !sample.labels.has('model_name') || isServed(sample));
}

/** How many samples hold no count and no share. */
export const countUnusable = (samples: readonly Sample[]): number =>
  samples.filter(({ value }) => !isUsable(value)).length;
