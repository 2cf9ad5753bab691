import type { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { WholeResponse } from '../../common/rendering.js';
import { renderOpenAiProblem } from './core/openai/render-problem.js';

/** Any problem as the response that the client behind a path understands. */
export class ProblemRenderer {
  constructor(readonly problemBase: string) {}

  render(problem: GatewayProblem, requestId: string): WholeResponse {
    return renderOpenAiProblem(problem, { requestId, problemBase: this.problemBase });
  }
}
