import type { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { WholeResponse } from '../../common/rendering.js';
import { isAnthropicTarget } from '../proxy/request-head.js';
import { renderAnthropicProblem } from './core/anthropic/render-problem.js';
import { renderOpenAiProblem } from './core/openai-problem.js';
import type { ProblemContext } from './core/problem-json.js';

/** Any problem as the response that the client behind a path understands. */
export class ProblemRenderer {
  constructor(private readonly problemBase: string) {}

  /** `target`: what the client asked for; undefined where that could not be read. */
  render(problem: GatewayProblem, requestId: string, target: string | undefined): WholeResponse {
    const isAnthropic = target !== undefined && isAnthropicTarget(target);
    const renderInDialect = isAnthropic ? renderAnthropicProblem : renderOpenAiProblem;
    return renderInDialect(problem, this.contextOf(requestId));
  }

  contextOf(requestId: string): ProblemContext {
    return { requestId, problemBase: this.problemBase };
  }
}
