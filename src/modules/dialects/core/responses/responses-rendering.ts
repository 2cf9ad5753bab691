import type { Usage } from '../../../../common/canonical/usage.js';
import type { EngineHeaders, WholeResponse } from '../../../../common/rendering.js';
import type { EngineError } from '../engine-error.js';
import { unusableAnswer } from '../engine-head.js';
import type { JsonObject } from '../json-value.js';
import { engineFailureOf, renderEngineError, wrapped } from '../openai-engine-error.js';
import type { ProblemContext } from '../problem-json.js';
import { type AnswerWords, TranslatedRendering } from '../translated-rendering.js';
import { ResponseEvents, type ResponseTerms } from './response-events.js';

/** What the rendering of one answer has to know of its request. */
export interface ResponsesRenderingTerms extends Omit<ResponseTerms, 'seed'> {
  readonly stream: boolean;
  readonly context: ProblemContext;
}

/** Answers of chat completions as answers of the Responses dialect, chunk by chunk. */
export class ResponsesRendering extends TranslatedRendering {
  constructor(terms: ResponsesRenderingTerms) {
    super(new ResponseWords(terms));
  }
}

class ResponseWords implements AnswerWords {
  readonly stream: boolean;
  readonly events: ResponseEvents;
  private readonly context: ProblemContext;

  constructor(terms: ResponsesRenderingTerms) {
    this.stream = terms.stream;
    this.context = terms.context;
    this.events = new ResponseEvents({ ...terms, seed: terms.context.requestId });
  }

  /** What the events of the same answer would come to. */
  whole(choice: JsonObject, source: string, usage: Usage | undefined): string {
    const { events } = this;
    events.chunk({ choices: [{ ...choice, index: 0 }] }, source);
    events.counted(usage);
    if (events.fault === undefined) events.end();
    if (events.fault !== undefined) throw unusableAnswer(events.fault);
    return events.response;
  }

  refused(status: number, headers: EngineHeaders, body: Buffer): WholeResponse {
    return renderEngineError(status, headers, body, this.context);
  }

  disguised(error: EngineError, headers: EngineHeaders): WholeResponse {
    return wrapped(engineFailureOf(error, 502), headers, this.context);
  }
}
