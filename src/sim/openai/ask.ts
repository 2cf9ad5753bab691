import type { IncomingHttpHeaders } from 'node:http';
import { prefixKeysOf, type PrefixKey } from '../core/kv-cache.js';
import { countFrom, listFrom, objectFrom, stringFrom, type JsonObject } from '../wire/json.js';
import { scriptedTurn, spokenText, type ScriptedTurn } from './prompt-script.js';

const CHARACTERS_PER_TOKEN = 4;
/** Answers to one prompt at most, whatever `n` says. */
const MAX_CHOICES = 128;

export interface Tool {
  readonly name: string;
  readonly parameters: unknown;
}

/** A named one must be called; `required` leaves open which. */
export type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

/** What a chat or completions request asks for, as far as the simulated model cares. */
export interface Ask {
  readonly kind: 'chat' | 'completions';
  readonly model: string;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Usage in every chunk, not only in the last. */
  readonly continuousUsage: boolean;
  readonly maxTokens: number | undefined;
  /** Answers to each prompt. */
  readonly choices: number;
  readonly stop: readonly string[];
  /** Goes on to the limit, whatever the model would do. */
  readonly ignoreEnd: boolean;
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  /** The answer must be JSON of this schema; undefined: it is free text. */
  readonly schema: unknown;
  readonly reasoningWanted: boolean;
  /** Chat has one; completions may have several. */
  readonly prompts: readonly Prompt[];
  /** The text that decides on a tool; undefined: the last message is not the user's. */
  readonly lastUserText: string | undefined;
  /** What the user's prompt prescribes for this turn; undefined: nothing. */
  readonly scripted: ScriptedTurn | undefined;
  /** How long the answer is to be; undefined: the model decides. */
  readonly outputTokens: number | undefined;
}

export interface Prompt {
  readonly text: string;
  readonly tokens: number;
  readonly prefixKeys: readonly PrefixKey[];
}

/** Sizes that the caller forces, by header or by the member `sim`; the header wins. */
interface Forced {
  readonly promptTokens: number | undefined;
  readonly outputTokens: number | undefined;
  /** Prompts with the same word here share their first `prefixTokens`, or all of it. */
  readonly prefix: string | undefined;
  readonly prefixTokens: number | undefined;
}

export function readForced(body: JsonObject, headers: IncomingHttpHeaders): Forced {
  const sim = objectFrom(body['sim']) ?? {};
  const count = (name: string): number | undefined =>
    countFrom(headers[`x-sim-${name.replaceAll('_', '-')}`]) ?? countFrom(sim[name]);
  return {
    promptTokens: count('prompt_tokens'),
    outputTokens: count('output_tokens'),
    prefix: stringFrom(headers['x-sim-prefix']) ?? stringFrom(sim['prefix']),
    prefixTokens: count('prefix_tokens'),
  };
}

/** Reads a chat request. Members of a wrong type count as absent: what an engine refuses, it refuses before this. */
export function readChat(body: JsonObject, forced: Forced, blockTokens: number): Ask {
  const messages = (listFrom(body['messages']) ?? []).map((message) => objectFrom(message) ?? {});
  const tools = readTools(body['tools']);
  const last = messages.at(-1);
  const text = messages.map(messageText).join('') + (tools.length > 0 ? JSON.stringify(body['tools']) : '');
  return {
    ...readCommon(body, forced),
    kind: 'chat',
    maxTokens: countFrom(body['max_completion_tokens']) ?? countFrom(body['max_tokens']),
    tools,
    toolChoice: readToolChoice(body['tool_choice'], tools),
    parallelToolCalls: body['parallel_tool_calls'] !== false,
    schema: readSchema(objectFrom(body['response_format'])),
    prompts: [promptOf(text, forced, blockTokens)],
    lastUserText: last?.['role'] === 'user' ? messageText(last) : undefined,
    scripted: scriptedTurn(messages),
  };
}

/** Reads a completions request: a prompt, or a list of them, as text or as tokens. */
export function readCompletions(body: JsonObject, forced: Forced, blockTokens: number): Ask {
  return {
    ...readCommon(body, forced),
    kind: 'completions',
    // The default of this API, which chat does not have.
    maxTokens: countFrom(body['max_tokens']) ?? 16,
    tools: [],
    toolChoice: 'none',
    parallelToolCalls: false,
    schema: undefined,
    prompts: promptTexts(body['prompt']).map((text) => promptOf(text, forced, blockTokens)),
    lastUserText: undefined,
    scripted: undefined,
  };
}

function readCommon(body: JsonObject, forced: Forced) {
  const streamOptions = objectFrom(body['stream_options']);
  const template = objectFrom(body['chat_template_kwargs']);
  return {
    model: stringFrom(body['model']) ?? '',
    stream: body['stream'] === true,
    includeUsage: streamOptions?.['include_usage'] === true,
    continuousUsage: streamOptions?.['continuous_usage_stats'] === true,
    choices: Math.min(countFrom(body['n']) ?? 1, MAX_CHOICES),
    stop: [body['stop']].flat().filter((entry): entry is string => typeof entry === 'string' && entry !== ''),
    ignoreEnd: body['ignore_eos'] === true,
    reasoningWanted:
      body['reasoning_effort'] !== 'none' &&
      body['include_reasoning'] !== false &&
      template?.['enable_thinking'] !== false,
    outputTokens: forced.outputTokens,
  };
}

function promptOf(text: string, forced: Forced, blockTokens: number): Prompt {
  const tokens = forced.promptTokens ?? Math.max(1, Math.ceil(text.length / CHARACTERS_PER_TOKEN));
  return { text, tokens, prefixKeys: prefixKeys(text, tokens, forced, blockTokens) };
}

/** A forced size says nothing of the text: such prompts share a prefix only where the caller says so. */
function prefixKeys(text: string, tokens: number, forced: Forced, blockTokens: number): readonly PrefixKey[] {
  if (forced.prefix === undefined) {
    return forced.promptTokens === undefined ? prefixKeysOf(text, blockTokens * CHARACTERS_PER_TOKEN) : [];
  }
  const shared = Math.floor(Math.min(tokens, forced.prefixTokens ?? tokens) / blockTokens);
  return Array.from({ length: shared }, (_, at) => `${forced.prefix}#${at}`);
}

/** All that the model reads of a message: its text, and the calls it made. */
function messageText(message: JsonObject): string {
  const { content, tool_calls: calls } = message;
  const said = spokenText(content);
  return listFrom(calls) === undefined ? said : said + JSON.stringify(calls);
}

function promptTexts(prompt: unknown): string[] {
  const list = listFrom(prompt);
  if (list === undefined) return [stringFrom(prompt) ?? ''];
  const isTokens = list.every((entry) => typeof entry === 'number');
  return isTokens ? [tokenText(list)] : list.map((entry) => stringFrom(entry) ?? tokenText(listFrom(entry) ?? []));
}

/** Token ids as text of the length that counts as so many tokens. */
const tokenText = (tokens: readonly unknown[]): string =>
  tokens.map((token) => String(token).slice(-CHARACTERS_PER_TOKEN).padStart(CHARACTERS_PER_TOKEN, ' ')).join('');

function readTools(value: unknown): Tool[] {
  return (listFrom(value) ?? []).flatMap((entry) => {
    const tool = objectFrom(objectFrom(entry)?.['function']);
    const name = stringFrom(tool?.['name']);
    return name === undefined || name === '' ? [] : [{ name, parameters: tool?.['parameters'] }];
  });
}

function readToolChoice(value: unknown, tools: readonly Tool[]): ToolChoice {
  if (tools.length === 0) return 'none';
  const name = stringFrom(objectFrom(objectFrom(value)?.['function'])?.['name']);
  if (name !== undefined) return { name };
  return value === 'none' || value === 'required' ? value : 'auto';
}

function readSchema(format: JsonObject | undefined): unknown {
  if (format?.['type'] === 'json_schema') return objectFrom(format['json_schema'])?.['schema'] ?? {};
  if (format?.['type'] === 'json_object') return { type: 'object', properties: { answer: { type: 'string' } } };
  return undefined;
}
