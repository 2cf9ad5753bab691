import type { AnswerFormat, AnswerRequest } from '../answer-request.js';
import { invalidField, untranslatable } from '../body-problems.js';
import { booleanAt, countAt, nameAt, numberAt, objectAt, optional, textAt } from '../fields.js';
import type { JsonObject } from '../json-value.js';
import type { ScannedBody } from '../scan-request.js';
import { SourceTexts } from '../source-texts.js';
import { parseItems } from './parse-items.js';
import { parseTools } from './parse-tools.js';

/** What every body of the dialect says, even one that is passed on as it is. */
export interface ResponsesHead {
  readonly tree: JsonObject;
  readonly stream: boolean;
  /** Tokens. */
  readonly maxTokens: number | undefined;
}

const SAMPLING = ['temperature', 'top_p'] as const;
const KEEPS_NOTHING = 'this gateway keeps no conversations: send all of it in input';

/** Reads the members that routing needs. Throws `invalid-request` with the field's path. */
export function parseHead(scan: ScannedBody): ResponsesHead {
  const tree = JSON.parse(scan.json.bytes.toString('utf8')) as JsonObject;
  refuseState(tree);
  return {
    tree,
    stream: optional(tree['stream'], 'stream', booleanAt) ?? false,
    maxTokens: optional(tree['max_output_tokens'], 'max_output_tokens', countAt),
  };
}

/**
 * A body of the dialect as a typed request. Whatever would be missing from the conversation is refused, with the field's
 * path; unknown members are passed over.
 */
export function parseResponses(
  scan: ScannedBody,
  { tree, stream, maxTokens }: ResponsesHead,
  model: string,
): AnswerRequest {
  if ((tree['prompt'] ?? undefined) !== undefined)
    throw invalidField('prompt', 'names a stored prompt, and this gateway keeps none: send instructions and input');
  const sources = new SourceTexts(scan);
  const schemas = sources.membersIn('tools', 'parameters');
  const instructions = optional(tree['instructions'], 'instructions', textAt);
  const { system, turns } = parseItems(tree['input']);
  const reasoning = optional(tree['reasoning'], 'reasoning', objectAt);
  const effort = optional(reasoning?.['effort'], 'reasoning.effort', nameAt);
  return {
    model,
    stream,
    maxTokens,
    system: instructions === undefined || instructions === '' ? system : [instructions, ...system],
    turns,
    ...parseTools(tree, (position) => schemas.get(position)),
    stopSequences: [],
    sampling: samplingOf(tree),
    thinking: effort === 'none' ? 'off' : 'shown',
    effort,
    format: formatOf(tree, sources),
    continuesLast: false,
  };
}

/**
 * Nothing is kept from one request to the next, and nobody works on after its response. A `store` that is left out, which
 * elsewhere means true, is not refused: most clients never say it, and never ask for what would be stored.
 */
function refuseState(tree: JsonObject): void {
  if (optional(tree['store'], 'store', booleanAt) === true)
    throw invalidField('store', 'is true, and this gateway keeps no responses: send false, or leave it out');
  if (optional(tree['background'], 'background', booleanAt) === true)
    throw invalidField('background', 'is true, and this gateway answers while the client waits: leave it out');
  for (const name of ['previous_response_id', 'conversation']) {
    if ((tree[name] ?? undefined) !== undefined) throw invalidField(name, `is not supported, since ${KEEPS_NOTHING}`);
  }
}

function samplingOf(tree: JsonObject): Record<string, number> {
  const sampling: Record<string, number> = {};
  for (const name of SAMPLING) {
    const value = optional(tree[name], name, numberAt);
    if (value !== undefined) sampling[name] = value;
  }
  return sampling;
}

function formatOf(tree: JsonObject, sources: SourceTexts): AnswerFormat | undefined {
  const text = optional(tree['text'], 'text', objectAt);
  const format = optional(text?.['format'], 'text.format', objectAt);
  const type = format === undefined ? 'text' : nameAt(format['type'], 'text.format.type');
  if (format === undefined || type === 'text') return undefined;
  if (type === 'json_object') return { type };
  if (type !== 'json_schema') throw untranslatable('text.format.type', type);
  objectAt(format['schema'], 'text.format.schema');
  return {
    type,
    name: nameAt(format['name'], 'text.format.name'),
    description: optional(format['description'], 'text.format.description', textAt),
    schema: sources.member('text', 'format', 'schema') ?? '{}',
    strict: optional(format['strict'], 'text.format.strict', booleanAt),
  };
}
