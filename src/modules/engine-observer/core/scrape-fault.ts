/** Why a poll failed, or a line of its page was not used. */
export const SCRAPE_FAULTS = [
  'connect',
  'timeout',
  'status',
  'oversize',
  'bad_content',
  'missing_family',
  'not_finite',
  'bad_line',
  'duplicate_series',
] as const;
export type ScrapeFault = (typeof SCRAPE_FAULTS)[number];

export type FaultCounts = Readonly<Record<ScrapeFault, number>>;

/** Counts that only grow. */
export class FaultTally {
  readonly counts: Record<ScrapeFault, number> = {
    connect: 0,
    timeout: 0,
    status: 0,
    oversize: 0,
    bad_content: 0,
    missing_family: 0,
    not_finite: 0,
    bad_line: 0,
    duplicate_series: 0,
  };

  add(counts: Partial<FaultCounts>): void {
    for (const fault of SCRAPE_FAULTS) this.counts[fault] += counts[fault] ?? 0;
  }
}
