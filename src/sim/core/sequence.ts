import { emptyHolding, type Holding, type PrefixKey } from './kv-cache.js';
import type { EngineProfile } from './profiles.js';

export interface EngineRequest {
  /** Unique among those that the engine holds. */
  readonly id: string;
  /** At least 1. */
  readonly promptTokens: number;
  /** How many tokens the answer will have; at least 1. */
  readonly outputTokens: number;
  /** One key for each full block of the prompt, from its beginning; absent: the prompt is like no other. */
  readonly prefixKeys?: readonly PrefixKey[] | undefined;
}

/** A request within the engine. */
export interface Sequence {
  readonly request: EngineRequest;
  holding: Holding;
  /** Tokens of prompt and answer whose KV exists. */
  computed: number;
  produced: number;
  cachedTokens: number;
  /** Tokens of the step that runs. */
  scheduled: number;
  /** Time spent in steps until the first token, and in all. */
  prefillMs: number;
  elapsedMs: number;
}

export const newSequence = (request: EngineRequest): Sequence => ({
  request,
  holding: emptyHolding(),
  computed: 0,
  produced: 0,
  cachedTokens: 0,
  scheduled: 0,
  prefillMs: 0,
  elapsedMs: 0,
});

/** Tokens to compute before the next one of the answer can come out, as far as one step may go. */
export function nextTokens(profile: EngineProfile, sequence: Sequence, budget: number): number {
  const due = sequence.request.promptTokens + sequence.produced - sequence.computed;
  return Math.min(due, profile.prefillChunkTokens ?? due, budget);
}

/** What the sequence adds to the length of the step, in ms. */
export function costMs(profile: EngineProfile, { scheduled, computed, produced }: Sequence): number {
  if (scheduled === 0) return 0;
  if (produced > 0 && scheduled === 1) return profile.decodeTokenMs + profile.decodeContextMs * computed;
  return scheduled * (profile.prefillTokenMs + profile.prefillAttentionMs * (computed + scheduled / 2));
}

/** How many tokens come out now: one, or with a fixed service time as many as keep pace with it. */
export function tokensDue({ serviceMs }: EngineProfile, { request, produced, elapsedMs }: Sequence): number {
  if (serviceMs === undefined) return 1;
  if (elapsedMs >= serviceMs) return request.outputTokens - produced;
  const onPace = Math.max(1, Math.floor((request.outputTokens * elapsedMs) / serviceMs));
  // The last token waits for the end of the service, or a short answer would free its place early.
  return Math.max(0, Math.min(onPace, request.outputTokens - 1) - produced);
}
