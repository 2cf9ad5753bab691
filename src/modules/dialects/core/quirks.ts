import type { EngineKind } from '../../../common/config/upstreams.config.js';

/** What has to be looked for, and put right, in an engine's answers. */
export interface ResponseQuirks {
  /** A first delta or a message may come without its role. */
  readonly role: boolean;
  /** Tool calls may lack index, id or type, share an index, or carry arguments that are no string. */
  readonly toolCalls: boolean;
  /** `choices` may be null or missing in a chunk. */
  readonly choices: boolean;
  /** `encoding_format` may be ignored. */
  readonly vectors: boolean;
}

const STRICT: ResponseQuirks = { role: false, toolCalls: false, choices: false, vectors: false };
const LOOSE: ResponseQuirks = { role: true, toolCalls: true, choices: true, vectors: true };

/** A kind that is not known to be strict is looked at: a look costs a search, a miss costs the caller the answer. */
const RESPONSE_QUIRKS: Readonly<Record<EngineKind, ResponseQuirks>> = {
  vllm: LOOSE,
  sglang: LOOSE,
  llamacpp: LOOSE,
  ollama: LOOSE,
  tei: { ...STRICT, vectors: true },
  openai: STRICT,
  http: STRICT,
};

export const responseQuirksOf = (engine: EngineKind): ResponseQuirks => RESPONSE_QUIRKS[engine];
