import type { JsonBytes } from '../json-bytes.js';
import { isObject, parsedJson } from '../json-value.js';
import type { Span } from '../json-walk.js';
import type { MessagePlaces } from '../scan-messages.js';
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

const SYSTEM = Buffer.from('"system"');
const EMPTY = Buffer.from('""');
/** The member under which arguments that are no object are handed on, so that nothing the model wrote is lost. */
const RAW = 'raw';

/** Edits inside the list of messages. */
export function repairMessages(repairs: MessageRepairs, json: JsonBytes, places: MessagePlaces): Edit[] {
  return [
    ...(repairs.developer ? places.developerRoles.map((role) => ({ ...role, bytes: SYSTEM })) : []),
    ...(repairs.nullContent ? places.nullContents.map((content) => ({ ...content, bytes: EMPTY })) : []),
    ...(repairs.arguments ? places.callArguments.flatMap((given) => argumentsRepair(json, given)) : []),
  ];
}

function argumentsRepair(json: JsonBytes, given: Span): Edit[] {
  const text = objectText(json, given);
  return text === undefined ? [] : [edit(given.start, given.end, JSON.stringify(text))];
}

/** The JSON text of an object in place of these arguments; undefined: they are one already, in a string. */
function objectText(json: JsonBytes, { start, end }: Span): string | undefined {
  if (!json.isString(start)) {
    const source = json.bytes.toString('utf8', start, end);
    if (json.isObject(start)) return source;
    return json.isNull(start) ? '{}' : JSON.stringify({ [RAW]: source });
  }
  const text = json.text(start, end);
  const value = parsedJson(text);
  if (isObject(value)) return undefined;
  return value === null || text.trim() === '' ? '{}' : JSON.stringify({ [RAW]: text });
}
