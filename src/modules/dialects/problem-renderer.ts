import type { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { WholeResponse } from '../../common/rendering.js';
import { isAnthropicTarget } from '../proxy/request-head.js';
import { renderAnthropicProblem } from './core/anthropic/render-problem.js';
import { KeptAnswer } from './core/kept-answer.js';
import { renderOpenAiProblem } from './core/openai-problem.js';
import { isUuid, type ProblemContext } from './core/problem-json.js';

/** An id like those that the gateway gives, of a request that there never was. */
const NO_REQUEST = '00000000-0000-0000-0000-000000000000';

type Render = (problem: GatewayProblem, context: ProblemContext) => WholeResponse;

/** Any problem as the response that the client behind a path understands. */
export class ProblemRenderer {
  /** What has been told once and will be again. */
  readonly #kept = new Map<Render, WeakMap<GatewayProblem, KeptAnswer>>([
    [renderOpenAiProblem, new WeakMap()],
    [renderAnthropicProblem, new WeakMap()],
  ]);

  constructor(private readonly problemBase: string) {}

  /** `target`: what the client asked for; undefined where that could not be read. */
  render(problem: GatewayProblem, requestId: string, target: string | undefined): WholeResponse {
    const isAnthropic = target !== undefined && isAnthropicTarget(target);
    const render = isAnthropic ? renderAnthropicProblem : renderOpenAiProblem;
    const kept = problem.options.recurs === true && isUuid(requestId) ? this.#kept.get(render) : undefined;
    if (kept === undefined) return render(problem, this.contextOf(requestId));
    let answer = kept.get(problem);
    if (answer === undefined) {
      answer = new KeptAnswer(render(problem, this.contextOf(NO_REQUEST)), NO_REQUEST);
      kept.set(problem, answer);
    }
    return answer.for(requestId);
  }

  contextOf(requestId: string): ProblemContext {
    return { requestId, problemBase: this.problemBase };
  }
}
