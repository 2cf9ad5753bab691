import type { JsonBytes, Member } from './json-bytes.js';
import { isObject, parsedJson } from './json-value.js';
import { edit, type Edit } from './splice-body.js';

/** What an engine does not digest inside `messages`. */
export interface MessageRepairs {
  /** The role `developer` is not known; `system` means the same. */
  readonly developer: boolean;
  /** An assistant's `content: null` beside tool calls is refused; "" means the same. */
  readonly nullContent: boolean;
  /** Replayed `arguments` that are not a JSON object in a string are refused, and with them every later turn. */
  readonly arguments: boolean;
}

/** Without one of these in its bytes, a list of messages needs no repair, unless it is written with escapes. */
const NEEDLES: Readonly<Record<keyof MessageRepairs, Buffer>> = {
  developer: Buffer.from('"developer"'),
  nullContent: Buffer.from('null'),
  arguments: Buffer.from('"arguments"'),
};
const UNICODE_ESCAPE = Buffer.from('\\u');

/** The member under which arguments that are no object are handed on, so that nothing the model wrote is lost. */
const RAW = 'raw';

/** Edits inside the list of messages. The body has been scanned. */
export function repairMessages(repairs: MessageRepairs, json: JsonBytes, messages: Member): Edit[] {
  if (!json.isArray(messages.valueStart) || !mayNeedRepair(repairs, json, messages)) return [];
  const edits: Edit[] = [];
  json.eachElement(messages.valueStart, (start) => {
    if (json.isObject(start)) repairMessage(repairs, json, start, edits);
  });
  return edits;
}

function mayNeedRepair(repairs: MessageRepairs, json: JsonBytes, { valueStart, valueEnd }: Member): boolean {
  const wanted = [
    ...(repairs.developer ? [NEEDLES.developer] : []),
    ...(repairs.nullContent ? [NEEDLES.nullContent] : []),
    ...(repairs.arguments ? [NEEDLES.arguments] : []),
  ];
  if (wanted.length === 0) return false;
  const bytes = json.bytes.subarray(valueStart, valueEnd);
  return [...wanted, UNICODE_ESCAPE].some((needle) => bytes.includes(needle));
}

function repairMessage(repairs: MessageRepairs, json: JsonBytes, open: number, edits: Edit[]): void {
  const { role, content, tool_calls: calls } = lastMembers(json, open, ['role', 'content', 'tool_calls']);
  if (repairs.developer && says(json, role, 'developer')) edits.push(replaced(role, '"system"'));
  if (calls === undefined || !json.isArray(calls.valueStart)) return;
  if (repairs.nullContent && says(json, role, 'assistant') && isNull(json, content)) edits.push(replaced(content, '""'));
  if (!repairs.arguments) return;
  json.eachElement(calls.valueStart, (start) => {
    if (json.isObject(start)) repairArguments(json, start, edits);
  });
}

function repairArguments(json: JsonBytes, call: number, edits: Edit[]): void {
  const called = lastMembers(json, call, ['function']).function;
  if (called === undefined || !json.isObject(called.valueStart)) return;
  const given = lastMembers(json, called.valueStart, ['arguments']).arguments;
  if (given === undefined) return;
  const text = objectText(json, given);
  if (text !== undefined) edits.push(replaced(given, JSON.stringify(text)));
}

/** The JSON text of an object in place of these arguments; undefined: they are one already, in a string. */
function objectText(json: JsonBytes, { valueStart, valueEnd }: Member): string | undefined {
  const source = json.bytes.toString('utf8', valueStart, valueEnd);
  if (json.isObject(valueStart)) return source;
  const text = json.isString(valueStart) ? json.text(valueStart, valueEnd) : source;
  const value = parsedJson(text);
  if (isObject(value)) return undefined;
  return value === null || text.trim() === '' ? '{}' : JSON.stringify({ [RAW]: text });
}

/** The members of these names; of several with one name the last, as most readers have it. */
function lastMembers<Name extends string>(
  json: JsonBytes,
  open: number,
  names: readonly Name[],
): { readonly [Key in Name]?: Member } {
  const found: { [Key in Name]?: Member } = {};
  json.eachMember(open, (member) => {
    const name = names.find((candidate) => json.says(member.keyStart, member.keyEnd, candidate));
    if (name !== undefined) found[name] = member;
  });
  return found;
}

const says = (json: JsonBytes, member: Member | undefined, text: string): member is Member =>
  member !== undefined && json.isString(member.valueStart) && json.says(member.valueStart, member.valueEnd, text);

const isNull = (json: JsonBytes, member: Member | undefined): member is Member =>
  member !== undefined && json.isNull(member.valueStart);

const replaced = ({ valueStart, valueEnd }: Member, text: string): Edit => edit(valueStart, valueEnd, text);
