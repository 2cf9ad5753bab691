import type { EngineKind } from '../../../common/config/upstreams.config.js';
import { chatMessages } from './chat-messages.js';
import type { AnswerFormat, AnswerRequest, Tool, ToolChoice } from './answer-request.js';

/** Engines that open a new turn behind a last assistant message unless they are told to go on with it. */
const WANT_CONTINUATION: ReadonlySet<EngineKind> = new Set(['vllm', 'sglang']);
/** Engines whose chat templates decide about reasoning. */
const HAVE_TEMPLATES: ReadonlySet<EngineKind> = new Set(['vllm', 'sglang', 'llamacpp']);

/** The body of the chat completions request that means the same to an engine of this kind. */
export function chatRequest(request: AnswerRequest, engine: EngineKind): Buffer {
  const { model, maxTokens, system, turns, stream, stopSequences, sampling } = request;
  return bodyOf({
    model: JSON.stringify(model),
    messages: JSON.stringify(chatMessages(system, turns)),
    ...numbersOf({ max_tokens: maxTokens, ...sampling }),
    ...(stopSequences.length > 0 && { stop: JSON.stringify(stopSequences) }),
    ...(stream && { stream: 'true', stream_options: '{"include_usage":true}' }),
    ...toolMembers(request),
    ...reasoningMembers(request, engine),
    ...formatMembers(request.format),
    ...continuationMembers(request, engine),
  });
}

/** The body of vLLM's `/tokenize`: the prompt that the same request would become. */
export function tokenizeRequest(request: AnswerRequest, engine: EngineKind): Buffer {
  return bodyOf({
    model: JSON.stringify(request.model),
    messages: JSON.stringify(chatMessages(request.system, request.turns)),
    ...(request.tools.length > 0 && { tools: toolsJson(request.tools) }),
    ...templateMembers(request, engine),
    ...continuationMembers(request, engine),
  });
}

/** Members by name, their values as JSON text. */
type Members = Readonly<Record<string, string>>;

function bodyOf(members: Members): Buffer {
  const written = Object.entries(members).map(([name, json]) => `${JSON.stringify(name)}:${json}`);
  return Buffer.from(`{${written.join(',')}}`);
}

function numbersOf(numbers: Readonly<Record<string, number | undefined>>): Members {
  const known = Object.entries(numbers).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known.map(([name, value]) => [name, String(value)]));
}

function toolMembers({ tools, toolChoice, parallelCalls }: AnswerRequest): Members {
  if (tools.length === 0) return {};
  return {
    tools: toolsJson(tools),
    ...(toolChoice !== undefined && { tool_choice: JSON.stringify(chatToolChoice(toolChoice)) }),
    ...(!parallelCalls && { parallel_tool_calls: 'false' }),
  };
}

/** Schemas are put in as they came: their numbers keep their digits. */
function toolsJson(tools: readonly Tool[]): string {
  const written = tools.map(({ name, description, inputSchema, strict }) => {
    const head = `{"type":"function","function":{"name":${JSON.stringify(name)}`;
    const parameters = inputSchema === undefined ? '' : `,"parameters":${inputSchema}`;
    return `${head}${described(description)}${parameters}${strictly(strict)}}}`;
  });
  return `[${written.join(',')}]`;
}

function chatToolChoice(choice: ToolChoice): unknown {
  switch (choice.type) {
    case 'auto':
    case 'none':
      return choice.type;
    case 'any':
      return 'required';
    case 'tool':
      return { type: 'function', function: { name: choice.name } };
  }
}

function reasoningMembers(request: AnswerRequest, engine: EngineKind): Members {
  const { thinking, effort } = request;
  const template = templateMembers(request, engine);
  if (thinking === 'off' && !('chat_template_kwargs' in template)) return { reasoning_effort: '"none"' };
  if (effort === undefined) return template;
  return { ...template, reasoning_effort: JSON.stringify(effort) };
}

function templateMembers({ thinking }: AnswerRequest, engine: EngineKind): Members {
  if (thinking !== 'off' || !HAVE_TEMPLATES.has(engine)) return {};
  return { chat_template_kwargs: '{"enable_thinking":false}' };
}

function formatMembers(format: AnswerFormat | undefined): Members {
  if (format === undefined) return {};
  if (format.type === 'json_object') return { response_format: '{"type":"json_object"}' };
  const { name, description, schema, strict } = format;
  const named = `{"name":${JSON.stringify(name)}${described(description)},"schema":${schema}${strictly(strict)}}`;
  return { response_format: `{"type":"json_schema","json_schema":${named}}` };
}

const described = (text: string | undefined): string =>
  text === undefined ? '' : `,"description":${JSON.stringify(text)}`;
const strictly = (strict: boolean | undefined): string => (strict === undefined ? '' : `,"strict":${strict}`);

/** A last assistant turn that is to be gone on with, unless it waits for the results of its calls. */
function continuationMembers({ turns, continuesLast }: AnswerRequest, engine: EngineKind): Members {
  const last = continuesLast ? turns.at(-1) : undefined;
  if (last?.role !== 'assistant' || last.calls.length > 0 || !WANT_CONTINUATION.has(engine)) return {};
  return { continue_final_message: 'true', add_generation_prompt: 'false' };
}
