import type { Operation } from '../../../../common/canonical/canonical-request.js';
import type { ResponseQuirks } from '../quirks.js';
import { type EngineError, engineErrorIn } from '../engine-error.js';
import { unusableAnswer } from '../engine-head.js';
import { withMember } from '../json-splice.js';
import { isObject, isText, type JsonObject, parsedJson } from '../json-value.js';
import { isShort, type ReadAnswer } from './read-answer.js';
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
const CALLS = /"tool_calls"\s*:(?!\s*(?:null|\[\s*\]))/;

/** The error that a 200 hides; undefined where it is an answer. Throws where it is neither. `read`: as far as it was read. */
export function errorInAnswer(body: Buffer, operation: Operation, read?: ReadAnswer): EngineError | undefined {
  if (read?.isAnswer === true && !read.hasError) return undefined;
  if (!looksLikeJson(body)) throw unusableAnswer('the answer is no JSON');
  const member = ANSWER_MEMBER[operation];
  // A short answer has been read, and was no JSON object: it is seldom an answer, and then for its byte order mark.
  const isUnread = member === undefined || !isShort(body);
  if (isUnread && isPlainAnswer(body, member)) return undefined;
  const value = parsedJson(body.toString('utf8').replace(/^\uFEFF/, ''));
  if (value === undefined) throw unusableAnswer('the answer is no JSON');
  const isAnswer = ['choices', 'data', 'results'].some((name) => isObject(value) && Array.isArray(value[name]));
  const error = isAnswer && !hasError(value) ? undefined : engineErrorIn(value);
  if (error === undefined && !isAnswer && member !== undefined) throw unusableAnswer(`the answer has no ${member}`);
  return error;
}

/** Beside an answer only this member speaks of an error, whatever else it has. */
const hasError = (value: unknown): boolean => isObject(value) && (isObject(value['error']) || isText(value['error']));

/** A whole chat answer, mended where its engine is known to fall short; the same buffer where nothing is amiss. */
export function repairedChat(body: Buffer, quirks: ResponseQuirks, seed: string, read?: ReadAnswer): Buffer {
  if (read?.maybeAmiss === false) return body;
  const mayLackRole = quirks.role && !body.includes('"role"');
  const mayHaveCalls = quirks.toolCalls && body.includes('"tool_calls"') && CALLS.test(body.toString('latin1'));
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
function isPlainAnswer(body: Buffer, member: string | undefined): boolean {
  if (body.includes('"error"') || body.includes('"detail"')) return false;
  return member === undefined || body.includes(`"${member}"`);
}

function looksLikeJson(body: Buffer): boolean {
  return (
    OPENING.test(body.toString('utf8', 0, EDGE_BYTES)) &&
    CLOSING.test(body.toString('latin1', Math.max(0, body.length - EDGE_BYTES)))
  );
}
