import type { Outcome } from './job.js';
import type { RunResult } from './world.js';
import { virtualCost } from '../modules/admission/core/virtual-cost.js';

/** The value below which this share of the samples lies; NaN without samples. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? NaN;
}

/** Jain's index of shares: 1 where all are equal, 1/n where one has everything. */
export function jainIndex(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return squares === 0 ? NaN : (sum * sum) / (shares.length * squares);
}

const mean = (samples: readonly number[]): number =>
  samples.length === 0 ? NaN : samples.reduce((total, sample) => total + sample, 0) / samples.length;

/** What became of one kind of load, over all seeds. */
export interface LoadFigures {
  readonly count: number;
  /** Seconds to the first token, of those that were served. */
  readonly ttftP50: number;
  readonly ttftP99: number;
  /** Seconds to the last token, of those that were served. */
  readonly totalP99: number;
  readonly totalMean: number;
  readonly refusedShare: number;
  readonly failed: number;
}

/** The figures of one policy on one scenario. */
export interface Figures {
  readonly loads: ReadonlyMap<string, LoadFigures>;
  /** Tokens of answers a second, and requests a minute, of what ended well while the load lasted. */
  readonly outputPerSecond: number;
  readonly servedPerMinute: number;
  /** Of the service that tenants had while the load lasted. */
  readonly jain: number;
  readonly mostHeld: number;
  readonly peakRunning: number;
  readonly mostWaitingInside: number;
  readonly aboveCeiling: number;
  readonly idleSeconds: number;
  readonly idleBesideLargeSeconds: number;
  readonly unended: number;
  readonly unreturned: number;
  readonly preemptions: number;
}

/** Puts the runs of several seeds together: samples are pooled, rates averaged, extremes kept. */
export function figuresOf(runs: readonly RunResult[]): Figures {
  const outcomes = runs.flatMap((run) => run.outcomes);
  const loads = [...new Set(outcomes.map(({ job }) => job.load))].sort();
  const most = (of: (run: RunResult) => number): number => Math.max(...runs.map(of));
  const sum = (of: (run: RunResult) => number): number => runs.reduce((total, run) => total + of(run), 0);
  return {
    loads: new Map(loads.map((load) => [load, loadFigures(outcomes.filter(({ job }) => job.load === load))])),
    outputPerSecond: mean(runs.map((run) => (1_000 * tokensOut(inTime(run))) / run.lengthMs)),
    servedPerMinute: mean(runs.map((run) => (60_000 * inTime(run).length) / run.lengthMs)),
    jain: mean(runs.map((run) => jainIndex(serviceByTenant(inTime(run))))),
    mostHeld: most((run) => run.mostHeld),
    peakRunning: most((run) => run.peakRunning),
    mostWaitingInside: most((run) => run.mostWaitingInside),
    aboveCeiling: sum((run) => run.aboveCeiling),
    idleSeconds: sum((run) => run.idleSeconds),
    idleBesideLargeSeconds: sum((run) => run.idleBesideLargeSeconds),
    unended: sum((run) => run.unended),
    unreturned: sum((run) => run.unreturned),
    preemptions: sum((run) => run.preemptions),
  };
}

const inTime = ({ outcomes, lengthMs }: RunResult): readonly Outcome[] =>
  outcomes.filter(({ how, endedAt }) => how === 'served' && endedAt <= lengthMs);

const tokensOut = (outcomes: readonly Outcome[]): number =>
  outcomes.reduce((total, { job }) => total + job.outputTokens, 0);

function loadFigures(outcomes: readonly Outcome[]): LoadFigures {
  const served = outcomes.filter(({ how }) => how === 'served');
  const ttft = served.map(({ firstAt = NaN, arrivedAt }) => (firstAt - arrivedAt) / 1_000);
  const total = served.map(({ endedAt, arrivedAt }) => (endedAt - arrivedAt) / 1_000);
  return {
    count: outcomes.length,
    ttftP50: quantile(ttft, 0.5),
    ttftP99: quantile(ttft, 0.99),
    totalP99: quantile(total, 0.99),
    totalMean: mean(total),
    refusedShare: outcomes.filter(({ how }) => how === 'refused').length / outcomes.length,
    failed: outcomes.filter(({ how }) => how === 'failed').length,
  };
}

function serviceByTenant(outcomes: readonly Outcome[]): readonly number[] {
  const service = new Map<string, number>();
  for (const { job } of outcomes) {
    service.set(job.tenant, (service.get(job.tenant) ?? 0) + virtualCost(job.promptTokens, job.outputTokens));
  }
  return [...service.values()];
}
