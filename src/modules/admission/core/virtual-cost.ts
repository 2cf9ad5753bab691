/** Where prefill's quadratic part weighs as much as its linear one: 2 cP / cA of the simulated Volta engine. */
const QUADRATIC_TOKENS = 48_000;
/** A decoded token occupies a sequence for about as long as four prefilled ones. */
const OUTPUT_WEIGHT = 4;

/** What a request costs in token equivalents: prompt, its attention, and its output. At least 1. */
export const virtualCost = (promptTokens: number, outputTokens: number): number =>
  Math.max(1, promptTokens + (promptTokens * promptTokens) / QUADRATIC_TOKENS + OUTPUT_WEIGHT * outputTokens);
