/** Counts of observations at or below each bound, as Prometheus has them. */
export class Histogram {
  private atOrBelow: number[] = [];
  private observations = 0;
  private total = 0;

  constructor(private readonly bounds: readonly number[]) {}

  observe(value: number): void {
    this.observations += 1;
    this.total += value;
    this.bounds.forEach((bound, at) => {
      if (value <= bound) this.atOrBelow[at] = (this.atOrBelow[at] ?? 0) + 1;
    });
  }

  /** Cumulative counts by upper bound, without the last one, which is `count`. */
  buckets(): readonly { readonly bound: number; readonly count: number }[] {
    return this.bounds.map((bound, at) => ({ bound, count: this.atOrBelow[at] ?? 0 }));
  }

  reset(): void {
    this.atOrBelow = [];
    this.observations = 0;
    this.total = 0;
  }

  get count(): number {
    return this.observations;
  }

  get sum(): number {
    return this.total;
  }
}
