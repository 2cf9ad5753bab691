import type { Operation } from '../../../../common/canonical/canonical-request.js';
import type { ResponseQuirks } from '../quirks.js';
import { type EngineError, engineErrorIn } from '../engine-error.js';
import { unusableAnswer } from '../engine-head.js';
import { withMember } from '../json-splice.js';
import { isObject, isText, type JsonObject, parsedJson } from '../json-value.js';
import { CallIds, completed, MAX_MENDED_CALLS } from './tool-calls.js';

/** The member without which an answer is none. Reranked lists have several shapes, and pass in all of them. */
const ANSWER_MEMBER: Readonly<Record<Operation, string | undefined>> = {
  chat: 'choices',
  completions: 'choices',
  embeddings: 'data',
  rerank: undefined,
};
const OPENING = /^[\uFEFF\s]*[{[]/;
const CLOSING = /[}\]]\s*$/;
const EDGE_BYTES = 64;
const SHORT_BYTES = 16 * 1024;
const CALLS = /"tool_calls"\s*:(?!\s*(?:null|\[\s*\]))/;

/** A body in the form in which it is searched: one byte, one character, so that places are the same. */
export type Searched = string | Buffer;

/** One copy to a text is cheaper than a search of the bytes for each name; a long body is not worth the copy. */
export const searchedOf = (body: Buffer): Searched => (body.length <= SHORT_BYTES ? body.toString('latin1') : body);

/** The error that a 200 hides; undefined where it is an answer. Throws where it is neither. */
export function errorInAnswer(
  body: Buffer,
  operation: Operation,
  searched: Searched = searchedOf(body),
): EngineError | undefined {
  if (!looksLikeJson(body)) throw unusableAnswer('the answer is no JSON');
  const member = ANSWER_MEMBER[operation];
  if (isPlainAnswer(searched, member)) return undefined;
  const value = parsedJson(body.toString('utf8').replace(/^\uFEFF/, ''));
  if (value === undefined) throw unusableAnswer('the answer is no JSON');
  const isAnswer = ['choices', 'data', 'results'].some((name) => isObject(value) && Array.isArray(value[name]));
  const error = isAnswer ? undefined : engineErrorIn(value);
  if (error === undefined && !isAnswer && member !== undefined) throw unusableAnswer(`the answer has no ${member}`);
  return error;
}

/** A whole chat answer, mended where its engine is known to fall short; the same buffer where nothing is amiss. */
export function repairedChat(
  body: Buffer,
  quirks: ResponseQuirks,
  seed: string,
  searched: Searched = searchedOf(body),
): Buffer {
  const mayLackRole = quirks.role && !searched.includes('"role"');
  const mayHaveCalls = quirks.toolCalls && searched.includes('"tool_calls"') && CALLS.test(body.toString('latin1'));
  if (!mayLackRole && !mayHaveCalls) return body;
  const source = body.toString('utf8');
  const value = parsedJson(source);
  if (!isObject(value) || !Array.isArray(value['choices'])) return body;
  const ids = new CallIds(seed);
  const repaired = value['choices'].reduce<string>(
    (json, choice, position) => repairedChoice(json, position, choice, quirks, ids),
    source,
  );
  return repaired === source ? body : Buffer.from(repaired);
}

function repairedChoice(json: string, position: number, choice: unknown, quirks: ResponseQuirks, ids: CallIds): string {
  if (!isObject(choice) || !isObject(choice['message'])) return json;
  const path = ['choices', position, 'message'];
  const message: JsonObject = choice['message'];
  const calls = quirks.toolCalls && Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  if (calls.length > MAX_MENDED_CALLS) return json;
  const withCalls = calls.reduce<string>((out, call, at) => {
    return isObject(call) ? completed(out, [...path, 'tool_calls', at], call, ids.at(position, at), '"{}"') : out;
  }, json);
  return quirks.role && !isText(message['role']) ? withMember(withCalls, [...path, 'role'], '"assistant"') : withCalls;
}

/** A quote inside a JSON string is escaped, so nothing that a model wrote can look like these members. */
function isPlainAnswer(searched: Searched, member: string | undefined): boolean {
  if (searched.includes('"error"') || searched.includes('"detail"')) return false;
  return member === undefined || searched.includes(`"${member}"`);
}

function looksLikeJson(body: Buffer): boolean {
  return (
    OPENING.test(body.toString('utf8', 0, EDGE_BYTES)) &&
    CLOSING.test(body.toString('latin1', Math.max(0, body.length - EDGE_BYTES)))
  );
}
