import { listFrom, objectFrom, stringFrom, type JsonObject } from '../wire/json.js';

/** A request that TEI turns away. `plain`: the web framework's own text, not TEI's JSON. */
export class TeiRefusal extends Error {
  constructor(
    readonly status: number,
    /** `plain`, or TEI's name for the kind of error. */
    readonly type: 'plain' | 'Validation' | 'Backend' | 'Overloaded' | 'Empty' | 'Unhealthy',
    message: string,
  ) {
    super(message);
    this.name = 'TeiRefusal';
  }
}

const DESERIALIZE = 'Failed to deserialize the JSON body into the target type: ';

export function parseTeiBody(body: Buffer): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    throw new TeiRefusal(400, 'plain', 'Failed to parse the request body as JSON: expected value at line 1 column 1');
  }
  const object = objectFrom(value);
  if (object === undefined) throw new TeiRefusal(422, 'plain', `${DESERIALIZE}invalid type`);
  return object;
}

/** The texts under a member: one, several, or token ids in place of them. Throws where there are none. */
export function readTexts(body: JsonObject, member: string): readonly string[] {
  const value = body[member];
  if (value === undefined)
    throw new TeiRefusal(422, 'plain', `${DESERIALIZE}missing field \`${member}\` at line 1 column 2`);
  const list = listFrom(value);
  const isTokens = list !== undefined && list.length > 0 && list.every((entry) => typeof entry === 'number');
  const texts = (list === undefined || isTokens ? [value] : list).map(textOf);
  if (texts.length === 0) throw new TeiRefusal(400, 'Empty', `\`${member}\` cannot be empty`);
  return texts;
}

function textOf(value: unknown): string {
  const tokens = listFrom(value);
  const text = stringFrom(value) ?? tokens?.join(' ');
  if (text === undefined)
    throw new TeiRefusal(422, 'plain', `${DESERIALIZE}data did not match any variant of untagged enum Input`);
  if (text === '') throw new TeiRefusal(400, 'Empty', '`inputs` cannot be empty');
  return text;
}

export function readText(body: JsonObject, member: string): string {
  const text = stringFrom(body[member]);
  if (text === undefined)
    throw new TeiRefusal(422, 'plain', `${DESERIALIZE}missing field \`${member}\` at line 1 column 2`);
  return text;
}
