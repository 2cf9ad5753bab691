import { eventFields } from '../../../common/sse.js';
import { isObject, isText, type JsonObject, parsedJson } from './json-value.js';

/** An engine's error in this dialect's members, whatever shape the engine gave it. */
export interface EngineError {
  readonly message: string;
  readonly type: string | undefined;
  readonly param: unknown;
  readonly code: unknown;
}

export const CONTEXT_OVERFLOW_CODE = 'context_length_exceeded';

const LONGEST_MESSAGE_CHARACTERS = 2048;
const NO_MESSAGE = 'The engine reported an error without a usable message.';
const OVERFLOW =
  /maximum context length|model's context length|maximum model length|available context size|exceeds the context length|exceed_context_size|context_length_exceeded/i;
/** Where a stack begins: what follows names files and libraries, which are nobody's business. */
const STACK = /Traceback \(most recent call last\)|\n\s*File "|\n\s+at \S/;
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/** The error that a JSON answer or an event holds; undefined: none. An `error` of null or false is none. */
export function engineErrorIn(value: unknown): EngineError | undefined {
  if (!isObject(value)) return undefined;
  if (isObject(value['error'])) return fromMembers(value['error']);
  if (isText(value['error'])) return errorOf(value['error'], value['error_type']);
  if (value['object'] === 'error') return fromMembers(value);
  if (value['detail'] !== undefined && value['choices'] === undefined) return errorOf(detailText(value['detail']));
  return undefined;
}

/** The error in the body of an error status: JSON of any shape, an event, plain text; markup says nothing. */
export function engineErrorFromBody(body: Buffer): EngineError {
  const text = body.toString('utf8').trim();
  const source = text.startsWith('data:') || text.startsWith('event:') ? (eventFields(body).data ?? '') : text;
  const value = parsedJson(source);
  const known = engineErrorIn(value);
  if (known !== undefined) return known;
  if (isObject(value)) return fromMembers(value);
  if (isText(value)) return errorOf(value);
  return errorOf(source.startsWith('<') || value !== undefined ? '' : source);
}

/** An event that calls itself an error is one, whatever its data looks like. */
export function namedError(value: unknown, text: string): EngineError {
  const known = engineErrorIn(value);
  if (known !== undefined) return known;
  const message = isObject(value) && isText(value['message']) ? value['message'] : isObject(value) ? '' : text;
  return { message: presentable(message), type: undefined, param: null, code: null };
}

/** The prompt does not fit the model. Clients start to compact on this error's code. */
export function isContextOverflow(error: EngineError): boolean {
  return OVERFLOW.test(error.message) || OVERFLOW.test(error.type ?? '') || error.code === CONTEXT_OVERFLOW_CODE;
}

/** The HTTP status that an engine gives as the code of an error inside a stream; 500 where it gives none. */
export function statusIn(error: EngineError): number {
  const code = Number(error.code);
  return Number.isInteger(code) && code >= 400 && code <= 599 ? code : 500;
}

/** Text that may be shown: no control characters, no stack, no novel. */
export function presentable(message: string): string {
  const stack = STACK.exec(message);
  const shown = (stack === null ? message : message.slice(0, stack.index)).replace(CONTROL, ' ').trim();
  if (shown === '') return NO_MESSAGE;
  return shown.length > LONGEST_MESSAGE_CHARACTERS ? `${shown.slice(0, LONGEST_MESSAGE_CHARACTERS)}…` : shown;
}

function fromMembers(members: JsonObject): EngineError {
  const { message, type, param, code } = members;
  return {
    message: presentable(isText(message) ? message : detailText(members['detail'] ?? message)),
    type: isText(type) ? type : undefined,
    param: param ?? null,
    code: code ?? null,
  };
}

function errorOf(message: string, type?: unknown): EngineError {
  return { message: presentable(message), type: isText(type) ? type : undefined, param: null, code: null };
}

/** FastAPI's `detail`: a text, or a list of faults with the place of each. */
function detailText(detail: unknown): string {
  if (typeof detail === 'string') return detail;
  if (!Array.isArray(detail)) return '';
  const faults = detail.filter(isObject).map((fault) => {
    const place = Array.isArray(fault['loc']) ? fault['loc'].filter((step) => step !== 'body').join('.') : '';
    return `${place}${place === '' ? '' : ': '}${isText(fault['msg']) ? fault['msg'] : 'not valid'}`;
  });
  return faults.join('; ');
}
