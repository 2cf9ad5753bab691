import type { Usage } from '../../../../common/canonical/usage.js';
import type { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { EngineHeaders, WholeResponse } from '../../../../common/rendering.js';
import type { EngineError } from '../engine-error.js';
import type { JsonObject } from '../json-value.js';
import type { NativeWords } from '../native-rendering.js';
import { renderEngineError } from '../openai-engine-error.js';
import type { ProblemContext } from '../problem-json.js';
import { NativeStream } from './native-stream.js';
import { type ResponseError, responseErrorFrom, responseErrorOf } from './response-error.js';
import { usageFromResponse } from './response-usage.js';

/** The ids of the answer are the engine's own, so that no event of the gateway could carry them. */
const COMMENT = Buffer.from(': keep-alive\n\n');

/** What the gateway itself says beside an engine that speaks the Responses dialect. */
export class NativeResponseWords implements NativeWords {
  readonly stream = new NativeStream();
  readonly beat = COMMENT;

  constructor(private readonly context: ProblemContext) {}

  isAnswer(body: JsonObject): boolean {
    return Array.isArray(body['output']);
  }

  usageIn(answer: JsonObject): Usage | undefined {
    return usageFromResponse(answer);
  }

  refused(status: number, headers: EngineHeaders, body: Buffer): WholeResponse {
    return renderEngineError(status, headers, body, this.context);
  }

  errorEvent(error: EngineError, status: number): string {
    return this.event(responseErrorOf(error, status));
  }

  problemEvent(problem: GatewayProblem): string {
    return this.event(responseErrorFrom(problem));
  }

  private event({ code, message }: ResponseError): string {
    const data = { type: 'error', sequence_number: this.stream.nextNumber, code, message, param: null };
    return `event: error\ndata: ${JSON.stringify(data)}\n\n`;
  }
}
