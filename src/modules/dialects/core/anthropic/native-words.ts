import type { Usage } from '../../../../common/canonical/usage.js';
import type { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { EngineHeaders, WholeResponse } from '../../../../common/rendering.js';
import type { EngineError } from '../engine-error.js';
import type { JsonObject } from '../json-value.js';
import type { NativeWords } from '../native-rendering.js';
import type { ProblemContext } from '../problem-json.js';
import { engineFailureOf, renderEngineError } from './engine-failure.js';
import { PING_EVENT } from './frames.js';
import { usageFromMessages } from './message-usage.js';
import { NativeStream } from './native-stream.js';
import { errorEvent, problemEvent } from './render-problem.js';

const PING = Buffer.from(PING_EVENT);

/** What the gateway itself says beside an engine that speaks the Messages dialect. */
export class NativeMessageWords implements NativeWords {
  readonly stream = new NativeStream();
  readonly beat = PING;

  constructor(private readonly context: ProblemContext) {}

  isAnswer(body: JsonObject): boolean {
    return body['type'] !== 'error';
  }

  usageIn(answer: JsonObject): Usage | undefined {
    return usageFromMessages(answer['usage']);
  }

  refused(status: number, headers: EngineHeaders, body: Buffer): WholeResponse {
    return renderEngineError(status, headers, body, this.context);
  }

  errorEvent(error: EngineError, status: number): string {
    return errorEvent(engineFailureOf(error, status).error, this.context.requestId);
  }

  problemEvent(problem: GatewayProblem): string {
    return problemEvent(problem, this.context.requestId);
  }
}
