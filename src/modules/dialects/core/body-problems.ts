import { GatewayProblem } from '../../../common/problem/gateway-problem.js';

/** The body as a whole is not acceptable. `fault` goes on from "The body", and quotes nothing of it. */
export const invalidBody = (fault: string): GatewayProblem =>
  new GatewayProblem('invalid-body', { detail: `The body ${fault}.` });

/** One field is not acceptable. `fault` goes on from the field's path. */
export const invalidField = (path: string, fault: string): GatewayProblem =>
  new GatewayProblem('invalid-request', { detail: `${path} ${fault}.`, param: path });

/** A value of a kind that no engine could be shown. */
export const untranslatable = (path: string, what: string): GatewayProblem =>
  invalidField(path, `is ${JSON.stringify(what.slice(0, 64))}, which cannot be passed to this model's engine`);
