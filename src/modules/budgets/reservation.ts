/**
 * What has been set aside for one request. It is held with `using`: what has not been settled when it is disposed of
 * is given back, the request itself included. Settling or disposing twice counts once.
 */
export interface Reservation extends Disposable {
  /** `RateLimit-Policy` and `RateLimit` for the answer: name, value, name, value; empty for a caller without a budget. */
  readonly fields: readonly string[];
  /** The request has been worked on, and came to so many tokens. */
  settle(tokens: number): void;
}

/** Of a caller that has no budget: there is nothing to count. */
export const UNLIMITED: Reservation = {
  fields: [],
  settle: () => undefined,
  [Symbol.dispose]: () => undefined,
};
