import type { CanonicalRequest } from '../../../common/canonical/canonical-request.js';
import type { Usage } from '../../../common/canonical/usage.js';

/** Bytes of a prompt to one token before anything is known: English text and JSON. */
const INITIAL_BYTES_PER_TOKEN = 3.6;
const LEAST_BYTES_PER_TOKEN = 1;
const MOST_BYTES_PER_TOKEN = 8;
const LEARN_BYTES = 0.05;
/** What an image costs, whatever its bytes. */
const IMAGE_TOKENS = 1000;
const INITIAL_OUTPUT_TOKENS = 300;
const OUTPUT_MARGIN = 1.5;
const LEARN_OUTPUT = 0.1;
/** Tenant and model pairs that are remembered; the one that was not seen longest is forgotten first. */
const REMEMBERED = 5000;

/** The tokens of a request, before the engine has counted them. */
export interface TokenEstimate {
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** Learns from the engines' own counts how many tokens a request will take. */
export class TokenEstimates {
  readonly #bytesPerToken = new Map<string, number>();
  readonly #outputs = new Map<string, number>();

  /** `contextLength`: tokens of prompt and answer together, the most that an answer without a limit can take. */
  estimate(request: CanonicalRequest, tenant: string, contextLength: number): TokenEstimate {
    const bytesPerToken = this.#bytesPerToken.get(request.model) ?? INITIAL_BYTES_PER_TOKEN;
    const promptTokens = Math.max(1, Math.ceil(request.promptBytes / bytesPerToken) + request.images * IMAGE_TOKENS);
    const usual = OUTPUT_MARGIN * (this.#outputs.get(keyOf(tenant, request.model)) ?? INITIAL_OUTPUT_TOKENS);
    const most = request.maxOutputTokens ?? Math.max(1, contextLength - promptTokens);
    return { promptTokens, outputTokens: Math.ceil(Math.min(most, usual)) };
  }

  /** What the engine counted for a request. */
  learn(request: CanonicalRequest, tenant: string, usage: Usage): void {
    if (usage.promptTokens > 0 && request.images === 0) {
      const old = this.#bytesPerToken.get(request.model) ?? INITIAL_BYTES_PER_TOKEN;
      const seen = Math.min(
        MOST_BYTES_PER_TOKEN,
        Math.max(LEAST_BYTES_PER_TOKEN, request.promptBytes / usage.promptTokens),
      );
      this.#bytesPerToken.set(request.model, old + LEARN_BYTES * (seen - old));
    }
    const key = keyOf(tenant, request.model);
    const old = this.#outputs.get(key) ?? INITIAL_OUTPUT_TOKENS;
    // Taken out and put in again, it becomes the youngest.
    this.#outputs.delete(key);
    this.#outputs.set(key, old + LEARN_OUTPUT * (usage.completionTokens - old));
    if (this.#outputs.size <= REMEMBERED) return;
    for (const oldest of this.#outputs.keys()) {
      this.#outputs.delete(oldest);
      return;
    }
  }

  /** Bytes of prompt to a token of this model, as far as it is known. */
  bytesPerToken(model: string): number {
    return this.#bytesPerToken.get(model) ?? INITIAL_BYTES_PER_TOKEN;
  }
}

const keyOf = (tenant: string, model: string): string => `${model}\n${tenant}`;
