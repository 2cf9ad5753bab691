/** Turns readings of the monotonic clock, which mean nothing to a person, into times of day. */
export class Moments {
  constructor(
    /** Of the monotonic clock, in ms. */
    readonly now: number,
    /** The same moment as milliseconds since 1970. */
    readonly wallMs: number,
  ) {}

  wallOf(then: number): number {
    return Math.round(this.wallMs - (this.now - then));
  }
}
