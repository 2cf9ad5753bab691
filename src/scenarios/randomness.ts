import { hashText, Prng } from '../sim/core/prng.js';

/** Numbers drawn for one purpose: what one source draws never shifts what another one gets. */
export class Draws {
  private readonly numbers: Prng;

  constructor(seed: number, purpose: string) {
    this.numbers = new Prng(hashText(purpose, seed));
    // Seeds that differ in few bits give first numbers that are close.
    for (let skipped = 0; skipped < 8; skipped += 1) this.numbers.next();
  }

  /** In [0, 1). */
  next(): number {
    return this.numbers.next();
  }

  below(count: number): number {
    return Math.floor(this.numbers.next() * count);
  }

  /** The time until the next of events that come `perSecond` on average, in ms. */
  untilNextMs(perSecond: number): number {
    return (-Math.log(1 - this.numbers.next()) / perSecond) * 1_000;
  }

  /** A factor around 1; `spread` is the standard deviation of its logarithm. */
  factor(spread: number): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.numbers.next()));
    return Math.exp(spread * radius * Math.cos(2 * Math.PI * this.numbers.next()));
  }
}
