/** One item of `RateLimit`. */
export interface Standing {
  /** What is left. */
  readonly rest: number;
  /** Until there is more. */
  readonly inMs: number;
}

/** Fields in the form of draft-ietf-httpapi-ratelimit-headers: structured lists of named policies. */
export function policyField(requests: number, tokens: number, windowMs: number): string {
  const w = wholeSeconds(windowMs);
  return `"requests";q=${requests};w=${w}, "tokens";q=${tokens};w=${w}`;
}

export const standingField = (requests: Standing, tokens: Standing): string =>
  `"requests";${parameters(requests)}, "tokens";${parameters(tokens)}`;

const parameters = ({ rest, inMs }: Standing): string => `r=${Math.max(0, rest)};t=${wholeSeconds(inMs)}`;

const wholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));
