/** Slices of a window. What was spent in one is forgotten when the window has moved past all of it. */
export const SLICES = 60;
/** A window that ends within a slice begins within another. */
const RING = SLICES + 1;

/** What can be spent. */
export const KINDS = ['requests', 'tokens'] as const;
export type Kind = (typeof KINDS)[number];

/** Milliseconds of a slice: whole ones, so that every clock cuts the same. */
export const sliceMsOf = (windowMs: number): number => Math.max(1, Math.ceil(windowMs / SLICES));

/**
 * What one tenant has spent in the window that ends now, as a sum over slices of time. The slice that the window begins
 * in counts in full: the sum is never less than what was spent in any stretch of the window's length.
 */
export class TenantWindow {
  requests = 0;
  tokens = 0;
  /** Requests and tokens of each slice, in turn. No typed array: those of tenants that are forgotten are freed late. */
  readonly #ring: number[] = new Array<number>(2 * RING).fill(0);

  /** `slice`: the number of the one that time is in. */
  constructor(private slice: number) {}

  /** Time has come to this slice. */
  moveTo(slice: number): void {
    const passed = slice - this.slice;
    if (passed <= 0) return;
    for (let at = slice - Math.min(passed, RING) + 1; at <= slice; at += 1) this.#forget(at);
    this.slice = slice;
  }

  /** Spends now. */
  spend(requests: number, tokens: number): void {
    this.#add(this.slice, requests, tokens);
  }

  /**
   * Changes what was spent in an earlier slice. Once that one is forgotten there is nothing to give back; what is to be
   * added to it counts as spent now.
   */
  correct(slice: number, requests: number, tokens: number): void {
    if (slice > this.slice - RING) this.#add(slice, requests, tokens);
    else this.#add(this.slice, Math.max(0, requests), Math.max(0, tokens));
  }

  /** How many slices have to pass until so much is forgotten; 0 where nothing has to be. */
  slicesUntil(kind: Kind, amount: number): number {
    let left = amount;
    for (let passed = 1; passed <= RING; passed += 1) {
      if (left <= 0) return passed - 1;
      left -= this.#ring[placeOf(this.slice - RING + passed) + KINDS.indexOf(kind)] ?? 0;
    }
    return RING;
  }

  #add(slice: number, requests: number, tokens: number): void {
    const place = placeOf(slice);
    this.#ring[place] = (this.#ring[place] ?? 0) + requests;
    this.#ring[place + 1] = (this.#ring[place + 1] ?? 0) + tokens;
    this.requests += requests;
    this.tokens += tokens;
  }

  #forget(slice: number): void {
    const place = placeOf(slice);
    this.requests -= this.#ring[place] ?? 0;
    this.tokens -= this.#ring[place + 1] ?? 0;
    this.#ring[place] = 0;
    this.#ring[place + 1] = 0;
  }
}

const placeOf = (slice: number): number => 2 * (((slice % RING) + RING) % RING);
