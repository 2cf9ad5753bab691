import type { WorkClass } from './pool-types.js';

/** Size classes are powers of two of 1000 prompt tokens. */
const CLASSES = 8;
/**
 * Tokens a second by size class before anything is known: a 32B model on two Volta cards, which prefills 525 tok/s up
 * to 8k and slows down from there, since attention grows with what is there already.
 */
const INITIAL = [525, 525, 525, 525, 416, 330, 262, 262] as const;
const LEARN = 0.1;
const LIGHT_BELOW_MS = 4000;
const LONG_ABOVE_MS = 20_000;

const classOf = (tokens: number): number =>
  Math.min(CLASSES - 1, Math.max(0, Math.round(Math.log2(Math.max(1, tokens) / 1000))));

/** How fast one engine prefills, by the size of the prompt: learned from requests that had the prefill to themselves. */
export class PrefillRate {
  readonly #rates: number[] = [...INITIAL];

  /** Milliseconds until the first token of a prompt with so many tokens that are not cached. */
  estimateMs(tokens: number): number {
    return tokens <= 0 ? 0 : (tokens / this.at(tokens)) * 1000;
  }

  /** Tokens a second for prompts of about this size. */
  at(tokens: number): number {
    return this.#rates[classOf(tokens)] ?? INITIAL[0];
  }

  /** One prefill of `tokens` took `ms`. A sample counts as half to twice the old value at most. */
  learn(tokens: number, ms: number): void {
    if (tokens < 1 || ms <= 0) return;
    const index = classOf(tokens);
    const old = this.at(tokens);
    const sample = Math.min(2 * old, Math.max(old / 2, (tokens / ms) * 1000));
    this.#rates[index] = old + LEARN * (sample - old);
  }
}

export function workClassOf(estimateMs: number): WorkClass {
  if (estimateMs < LIGHT_BELOW_MS) return 'light';
  return estimateMs > LONG_ABOVE_MS ? 'long' : 'heavy';
}
