import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { invalidField } from '../body-problems.js';
import type { JsonObject } from '../json-value.js';
import type { ScannedBody } from '../scan-request.js';
import { booleanAt, countAt, listAt, nameAt, numberAt, objectAt, optional, textAt } from '../fields.js';
import type { AnswerFormat, AnswerRequest, ThinkingMode } from '../answer-request.js';
import { textsOf } from './parse-blocks.js';
import { parseTools } from './parse-tools.js';
import { parseConversation } from './parse-turns.js';
import { SourceTexts } from '../source-texts.js';

/** A schema has to be named in chat completions; the name means nothing. */
const SCHEMA_NAME = 'answer';
/** Beyond `high` the dialects have no words in common. */
const EFFORTS: ReadonlyMap<string, string> = new Map([
  ['xhigh', 'high'],
  ['max', 'high'],
]);
const SAMPLING = ['temperature', 'top_p', 'top_k'] as const;

/** What every body of the dialect says, even one that is passed on as it is. */
export interface MessagesHead {
  readonly tree: JsonObject;
  readonly stream: boolean;
  /** Tokens. */
  readonly maxTokens: number | undefined;
}

/** Reads the members that routing needs. Throws `invalid-request` with the field's path. */
export function parseHead(scan: ScannedBody): MessagesHead {
  const tree = JSON.parse(scan.json.bytes.toString('utf8')) as JsonObject;
  refuseThread(tree);
  return {
    tree,
    stream: optional(tree['stream'], 'stream', booleanAt) ?? false,
    maxTokens: optional(tree['max_tokens'], 'max_tokens', countAt),
  };
}

/**
 * A body of the dialect as a typed request. Whatever the engine could not be told is refused, with the field's path;
 * unknown members are passed over. `counting`: no limit of the answer is required.
 */
export function parseMessages(scan: ScannedBody, head: MessagesHead, model: string, counting: boolean): AnswerRequest {
  const { tree, stream, maxTokens } = head;
  if (maxTokens === undefined && !counting) throw invalidField('max_tokens', 'is missing');
  const sources = new SourceTexts(scan);
  let inputs: ReadonlyMap<string, string> | undefined;
  const conversation = parseConversation(tree['messages'], (message, block) => {
    inputs ??= sources.inputs();
    return inputs.get(`${message}.${block}`);
  });
  const schemas = sources.membersIn('tools', 'input_schema');
  const stops = optional(tree['stop_sequences'], 'stop_sequences', listAt) ?? [];
  const output = optional(tree['output_config'], 'output_config', objectAt);
  return {
    model,
    stream,
    maxTokens,
    system: [...(optional(tree['system'], 'system', textsOf) ?? []), ...conversation.system],
    turns: conversation.turns,
    ...parseTools(tree, (position) => schemas.get(position)),
    stopSequences: stops.map((stop, position) => textAt(stop, `stop_sequences[${position}]`)),
    sampling: samplingOf(tree),
    thinking: thinkingOf(tree),
    effort: effortOf(optional(output?.['effort'], 'output_config.effort', nameAt)),
    format: formatOf(answerSchemaOf(tree, sources)),
    continuesLast: true,
  };
}

/** Nothing is kept from one request to the next. Official clients that read this send the whole turn again. */
function refuseThread(tree: JsonObject): void {
  if ((tree['thread'] ?? undefined) === undefined) return;
  throw new GatewayProblem('invalid-request', {
    detail: 'thread is not supported: every request has to bring its whole conversation.',
    param: 'thread',
    extensions: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
  });
}

function samplingOf(tree: JsonObject): Record<string, number> {
  const sampling: Record<string, number> = {};
  for (const name of SAMPLING) {
    const value = optional(tree[name], name, numberAt);
    if (value !== undefined) sampling[name] = value;
  }
  return sampling;
}

function thinkingOf(tree: JsonObject): ThinkingMode {
  const thinking = optional(tree['thinking'], 'thinking', objectAt);
  if (thinking === undefined) return 'shown';
  const type = nameAt(thinking['type'], 'thinking.type');
  if (type === 'disabled') return 'off';
  return thinking['display'] === 'omitted' ? 'omitted' : 'shown';
}

const effortOf = (effort: string | undefined): string | undefined =>
  effort === undefined ? undefined : (EFFORTS.get(effort) ?? effort);

const formatOf = (schema: string | undefined): AnswerFormat | undefined =>
  schema === undefined
    ? undefined
    : { type: 'json_schema', name: SCHEMA_NAME, description: undefined, schema, strict: undefined };

/** JSON text of the schema, by its present name or that of the beta before it. */
function answerSchemaOf(tree: JsonObject, sources: SourceTexts): string | undefined {
  const present = objectOrNone(
    objectOrNone(tree['output_config'], 'output_config')?.['format'],
    'output_config.format',
  );
  const format = present ?? objectOrNone(tree['output_format'], 'output_format');
  if (format === undefined) return undefined;
  const path = present === undefined ? ['output_format'] : ['output_config', 'format'];
  const at = path.join('.');
  if (format['type'] !== 'json_schema') throw invalidField(`${at}.type`, 'has to be "json_schema"');
  objectAt(format['schema'], `${at}.schema`);
  return sources.member(...path, 'schema');
}

const objectOrNone = (value: unknown, path: string): JsonObject | undefined => optional(value, path, objectAt);
