/** A prompt that takes longer than it should is taken for as much work again as this share of its time. */
export const OVERDUE_SHARE = 0.4;
/** When memory that is not ours grows as a prompt makes it grow, and how much work that is then taken for. */
const FOREIGN_BACKLOG_MS = 6000;
const FOREIGN_GROWTH_TOKENS = 1500;
const FOREIGN_LEAST_TOKENS = 4000;
const FOREIGN_WITHIN_READINGS = 7;
/** Where other gateways do not tell of their prompts, this is the only sign of them: sooner, and more than chat may find. */
const UNTOLD = { backlogMs: 25_000, growthTokens: 2000, leastTokens: 2500, withinReadings: 3 } as const;

/** What is known of the engine besides its memory. */
export interface ForeignTerms {
  /** Prompts of this gateway that the engine works on. */
  readonly prefills: number;
  /** Other gateways do not tell what they have. */
  readonly untold: boolean;
}

/** Somebody else's prompt on an engine, as its memory shows it: what is not ours, and grows. */
export class ForeignPrefill {
  #tokens: readonly number[] = [];
  #since: number | undefined;
  #untold = false;

  /** `tokens`: memory that is not ours. */
  read(tokens: number, now: number, { prefills, untold }: ForeignTerms): void {
    this.#untold = untold;
    this.#tokens = [...this.#tokens, tokens].slice(-FOREIGN_WITHIN_READINGS);
    const growth = tokens - Math.min(...this.#tokens);
    // Our own prompts are no more than estimated: one of them may look like somebody else's.
    const grows = growth >= FOREIGN_GROWTH_TOKENS && tokens > FOREIGN_LEAST_TOKENS && prefills === 0;
    const isOthers = grows || (untold && this.#growsUntold(tokens, growth, prefills));
    this.#since = isOthers ? (this.#since ?? now) : undefined;
  }

  /** Milliseconds of it that are ahead of a newcomer; `prefills`: of this gateway. */
  backlogMs(now: number, prefills: number): number {
    if (this.#since === undefined || (prefills > 0 && !this.#untold)) return 0;
    const least = this.#untold ? UNTOLD.backlogMs : FOREIGN_BACKLOG_MS;
    return Math.max(least, OVERDUE_SHARE * (now - this.#since));
  }

  forget(): void {
    this.#tokens = [];
    this.#since = undefined;
  }

  /** Known once, it lasts as long as memory still grows, whatever we have there ourselves. */
  #growsUntold(tokens: number, growth: number, prefills: number): boolean {
    if (this.#since !== undefined) return growth >= FOREIGN_GROWTH_TOKENS;
    const lately = tokens - Math.min(...this.#tokens.slice(-UNTOLD.withinReadings));
    return tokens > UNTOLD.leastTokens && lately >= UNTOLD.growthTokens && prefills === 0;
  }
}
