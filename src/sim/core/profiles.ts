/** What one engine can do and what a step of it costs. Times are those of the simulated machine, before any time scale. */
export interface EngineProfile {
  /** Sequences that run at once (`--max-num-seqs`). */
  readonly slots: number;
  /** Tokens that one step may compute (`--max-num-batched-tokens`). */
  readonly stepTokens: number;
  readonly blockTokens: number;
  readonly blocks: number;
  /** Milliseconds of any step, whatever is in it. */
  readonly stepBaseMs: number;
  /** Milliseconds a prefilled token. */
  readonly prefillTokenMs: number;
  /** Milliseconds a prefilled token and token of context before it: attention. */
  readonly prefillAttentionMs: number;
  /** Milliseconds a decoded token. */
  readonly decodeTokenMs: number;
  /** Milliseconds a decoded token and token of context before it. */
  readonly decodeContextMs: number;
  /** The most that one step computes of one prompt (`--long-prefill-token-threshold`); undefined: no limit of its own. */
  readonly prefillChunkTokens?: number | undefined;
  /** A request takes this long, whatever its size, its tokens spread evenly; undefined: the costs above apply. */
  readonly serviceMs?: number | undefined;
}

/** A 32B model on two Volta cards: 525 tok/s on an 8k prompt, 250 s for a 65k one. */
export const VOLTA: EngineProfile = {
  slots: 4,
  stepTokens: 2_048,
  blockTokens: 16,
  blocks: 9_527,
  stepBaseMs: 45,
  prefillTokenMs: 1.632,
  prefillAttentionMs: 6.812e-5,
  decodeTokenMs: 2,
  decodeContextMs: 2.5e-4,
};

/** A current data-centre card. */
export const FAST: EngineProfile = {
  ...VOLTA,
  slots: 64,
  stepTokens: 8_192,
  stepBaseMs: 12,
  prefillTokenMs: 0.06,
  prefillAttentionMs: 2e-7,
  decodeTokenMs: 0.05,
  decodeContextMs: 1e-6,
};

/** Nothing but places: prefill is free and every request takes two seconds. */
export const SLOTS: EngineProfile = {
  slots: 4,
  stepTokens: 1_000_000,
  blockTokens: 16,
  blocks: 65_536,
  stepBaseMs: 20,
  prefillTokenMs: 0,
  prefillAttentionMs: 0,
  decodeTokenMs: 0,
  decodeContextMs: 0,
  serviceMs: 2_000,
};

/** A small encoder that embeds or scores: one pass a request, many in a batch. */
export const ENCODER: EngineProfile = {
  ...FAST,
  slots: 512,
  stepTokens: 16_384,
  blocks: 262_144,
  stepBaseMs: 4,
  prefillTokenMs: 0.01,
  prefillAttentionMs: 0,
};

export const PROFILES = { volta: VOLTA, fast: FAST, slots: SLOTS } as const;

const OPTIONAL = ['prefillChunkTokens', 'serviceMs'];
const COUNTS = ['slots', 'stepTokens', 'blockTokens', 'blocks', 'prefillChunkTokens'];
const KEYS = [...Object.keys(VOLTA), ...OPTIONAL];

/** Reads a profile from JSON: numbers under the names above; those left out are Volta's. Throws an Error naming the key. */
export function parseProfile(value: unknown): EngineProfile {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('a profile is an object of numbers');
  for (const [key, entry] of Object.entries(value)) checkEntry(key, entry);
  return { ...VOLTA, ...value };
}

function checkEntry(key: string, value: unknown): void {
  if (!KEYS.includes(key)) throw new Error(`a profile has no key "${key}"; its keys are ${KEYS.join(', ')}`);
  const isCount = COUNTS.includes(key);
  const wanted = isCount ? 'a whole number above 0' : 'a number of at least 0';
  const good = isCount ? Number.isInteger(value) && Number(value) > 0 : Number.isFinite(value) && Number(value) >= 0;
  if (!good) throw new Error(`the profile's "${key}" must be ${wanted}`);
}
