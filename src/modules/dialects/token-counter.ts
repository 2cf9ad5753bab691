import type { TimeoutsConfig } from '../../common/config/timeouts.config.js';
import type { WholeResponse } from '../../common/rendering.js';
import type { SlotController } from '../admission/slot-controller.js';
import type { EngineQuery, QueryAnswer } from '../proxy/engine-query.js';
import type { Exchange } from '../proxy/exchange.js';
import type { PreparedMessages } from './core/anthropic/prepare-request.js';
import { countInTokenizer, isVerdict, renderCount, renderVerdict } from './core/anthropic/token-count.js';
import type { ProblemContext } from './core/problem-json.js';

const TOKENIZE_PATH = '/tokenize';
const NATIVE_PATH = '/v1/messages/count_tokens';

/** Counts the tokens of a prompt: by its engine, where that can count; otherwise by what engines have counted before. */
export class TokenCounter {
  constructor(
    private readonly slots: SlotController,
    private readonly query: EngineQuery,
  ) {}

  /** Never fails because an engine cannot count. Rejects with ClientGone only. */
  async count(
    prepared: PreparedMessages,
    headers: readonly string[],
    timeouts: TimeoutsConfig,
    exchange: Exchange,
    context: ProblemContext,
  ): Promise<WholeResponse> {
    const answer = await this.#answer(prepared, headers, timeouts, exchange);
    if (answer !== undefined && prepared.native && isVerdict(answer)) return renderVerdict(answer, context);
    const counted = answer === undefined ? undefined : countInTokenizer(answer);
    const { request, model } = prepared;
    return renderCount(counted, () => this.slots.promptTokens(request, exchange.caller, model.contextLength));
  }

  async #answer(
    { native, body, tokenize, model }: PreparedMessages,
    headers: readonly string[],
    timeouts: TimeoutsConfig,
    exchange: Exchange,
  ): Promise<QueryAnswer | undefined> {
    const question = native ? body : tokenize;
    if (question === undefined) return undefined;
    const path = native ? NATIVE_PATH : TOKENIZE_PATH;
    const call = { method: 'POST', path, headers, body: question };
    const { record, clock } = exchange;
    record.sentTo(undefined, clock.now());
    const answer = await this.query.ask({ upstream: model.upstream, timeouts }, call, exchange);
    record.upstreamEndedAt = clock.now();
    record.upstreamStatus = answer?.status;
    return answer;
  }
}
