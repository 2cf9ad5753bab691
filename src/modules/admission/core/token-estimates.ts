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
/** Tenant and model pairs that are remembered; then all of them are forgotten, and learned anew. */
const REMEMBERED = 5000;

/** The tokens of a request, before the engine has counted them. */
export interface TokenEstimate {
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** What is known of one model. */
interface ModelHabits {
  bytesPerToken: number;
  /** By tenant: the usual length of its answers, in tokens. */
  readonly outputs: Map<string, { tokens: number }>;
}

/** Learns from the engines' own counts how many tokens a request will take. */
export class TokenEstimates {
  /** Models are configured, so there are few. */
  readonly #models = new Map<string, ModelHabits>();

  /** `contextLength`: tokens of prompt and answer together, the most that an answer without a limit can take. */
  estimate(request: CanonicalRequest, tenant: string, contextLength: number): TokenEstimate {
    const { bytesPerToken, outputs } = this.#habitsOf(request.model);
    const promptTokens = Math.max(1, Math.ceil(request.promptBytes / bytesPerToken) + request.images * IMAGE_TOKENS);
    const usual = OUTPUT_MARGIN * (outputs.get(tenant)?.tokens ?? INITIAL_OUTPUT_TOKENS);
    const most = request.maxOutputTokens ?? Math.max(1, contextLength - promptTokens);
    return { promptTokens, outputTokens: Math.ceil(Math.min(most, usual)) };
  }

  /** What the engine counted for a request. */
  learn(request: CanonicalRequest, tenant: string, usage: Usage): void {
    const habits = this.#habitsOf(request.model);
    if (usage.promptTokens > 0 && request.images === 0) {
      const seen = request.promptBytes / usage.promptTokens;
      const credible = Math.min(MOST_BYTES_PER_TOKEN, Math.max(LEAST_BYTES_PER_TOKEN, seen));
      habits.bytesPerToken += LEARN_BYTES * (credible - habits.bytesPerToken);
    }
    const output = habits.outputs.get(tenant);
    if (output !== undefined) output.tokens += LEARN_OUTPUT * (usage.completionTokens - output.tokens);
    else {
      if (habits.outputs.size >= REMEMBERED) habits.outputs.clear();
      const tokens = INITIAL_OUTPUT_TOKENS + LEARN_OUTPUT * (usage.completionTokens - INITIAL_OUTPUT_TOKENS);
      habits.outputs.set(tenant, { tokens });
    }
  }

  /** Bytes of prompt to a token of this model, as far as it is known. */
  bytesPerToken(model: string): number {
    return this.#habitsOf(model).bytesPerToken;
  }

  #habitsOf(model: string): ModelHabits {
    let habits = this.#models.get(model);
    if (habits === undefined) {
      habits = { bytesPerToken: INITIAL_BYTES_PER_TOKEN, outputs: new Map() };
      this.#models.set(model, habits);
    }
    return habits;
  }
}
