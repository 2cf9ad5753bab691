/** BENCH_SCALE below 1 shortens the micro-benchmarks: enough to see that they run, too little to learn anything. */
const SCALE = Number(process.env.BENCH_SCALE ?? 1);
if (!(SCALE > 0 && SCALE <= 1))
  throw new Error(`BENCH_SCALE is "${process.env.BENCH_SCALE}", not a number above 0 and up to 1`);

/** So many times, shortened. `least`: what the arithmetic of a benchmark needs. */
export const scaled = (count, least = 1) => Math.max(least, Math.round(count * SCALE));

/** No figure of this run means anything. */
export const shortened = SCALE < 1;
