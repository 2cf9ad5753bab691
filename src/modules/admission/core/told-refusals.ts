import type { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { refusalProblem } from './refusal-problem.js';
import type { Refused } from './refusals.js';

const MOST = 1024;

/** The problems of those who are turned away as soon as they come: many get the same one, and so it is made once. */
export class ToldRefusals {
  readonly #told = new Map<string, GatewayProblem>();

  of({ refusal, retryAfterSeconds, why }: Refused, band: string): GatewayProblem {
    const words = `${refusal} ${band} ${why.waiting} ${retryAfterSeconds}`;
    const told = this.#told.get(words);
    if (told !== undefined) return told;
    if (this.#told.size >= MOST) this.#told.clear();
    const problem = refusalProblem(refusal, retryAfterSeconds, band, why, true);
    this.#told.set(words, problem);
    return problem;
  }
}
