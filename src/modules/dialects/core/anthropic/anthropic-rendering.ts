import type { Usage } from '../../../../common/canonical/usage.js';
import type { EngineHeaders, WholeResponse } from '../../../../common/rendering.js';
import type { ThinkingMode } from '../answer-request.js';
import type { EngineError } from '../engine-error.js';
import type { JsonObject } from '../json-value.js';
import type { ProblemContext } from '../problem-json.js';
import { type AnswerWords, TranslatedRendering } from '../translated-rendering.js';
import { engineFailureOf, renderEngineError, renderFailure } from './engine-failure.js';
import { MessageStream } from './message-stream.js';
import { messageJson } from './whole-message.js';

/** What the rendering of one answer has to know of its request. */
export interface AnthropicRenderingTerms {
  readonly model: string;
  readonly stream: boolean;
  readonly thinking: ThinkingMode;
  /** Tokens. */
  readonly estimatedInputTokens: number;
  readonly context: ProblemContext;
}

/** Answers of chat completions as answers of the Messages dialect, chunk by chunk. */
export class AnthropicRendering extends TranslatedRendering {
  constructor(terms: AnthropicRenderingTerms) {
    super(new MessageWords(terms));
  }
}

class MessageWords implements AnswerWords {
  readonly stream: boolean;
  readonly events: MessageStream;
  private readonly id: string;

  constructor(private readonly terms: AnthropicRenderingTerms) {
    const { requestId } = terms.context;
    this.id = `msg_${requestId}`;
    this.stream = terms.stream;
    this.events = new MessageStream({ ...terms, id: this.id }, requestId);
  }

  whole(choice: JsonObject, source: string, usage: Usage | undefined): string {
    return messageJson(choice, source, usage, { ...this.terms, id: this.id });
  }

  refused(status: number, headers: EngineHeaders, body: Buffer): WholeResponse {
    return renderEngineError(status, headers, body, this.terms.context);
  }

  disguised(error: EngineError, headers: EngineHeaders): WholeResponse {
    return renderFailure(engineFailureOf(error, 502), headers, this.terms.context);
  }
}
