import type { EngineHeaders, WholeResponse } from '../../../../common/rendering.js';
import type { ProblemContext } from '../problem-json.js';
import { renderEngineError } from './engine-failure.js';
import { JSON_FIELDS } from '../response-fields.js';

/** What an engine said when it was asked to count. */
export interface CountAnswer {
  readonly status: number;
  readonly headers: EngineHeaders;
  readonly body: Buffer;
}

/** Says who counted: the engine, or nobody. */
const COUNTED_BY = 'x-llmgw-token-count';
/** A tokenizer's answer begins or ends with the number; between them are all the tokens, which nobody wants parsed. */
const COUNT = /"(?:count|input_tokens)"\s*:\s*(\d{1,15})(?=\s*[,}])/;
/** The faults of a request, which an engine that speaks the dialect has found in it. */
const VERDICTS: ReadonlySet<number> = new Set([400, 413, 422]);

/** Whether an engine that speaks the dialect has judged the request itself. */
export const isVerdict = ({ status }: CountAnswer): boolean => VERDICTS.has(status);

export const renderVerdict = ({ status, headers, body }: CountAnswer, context: ProblemContext): WholeResponse =>
  renderEngineError(status, headers, body, context);

/** The number of tokens in an engine's answer; undefined: there is none, and the answer is an error or something else. */
export function countInTokenizer({ status, body }: CountAnswer): number | undefined {
  if (status !== 200) return undefined;
  const count = COUNT.exec(body.toString('latin1'))?.[1];
  return count === undefined ? undefined : Number(count);
}

/** The answer to the client. Where the engine has not counted, `estimate` says what is likely. */
export function renderCount(counted: number | undefined, estimate: () => number): WholeResponse {
  const by = counted === undefined ? 'estimated' : 'engine';
  return {
    status: 200,
    headers: [...JSON_FIELDS, COUNTED_BY, by],
    body: Buffer.from(JSON.stringify({ input_tokens: counted ?? estimate() })),
  };
}
