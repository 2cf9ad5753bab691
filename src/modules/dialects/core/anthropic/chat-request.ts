import type { EngineKind } from '../../../../common/config/upstreams.config.js';
import { chatMessages } from './chat-messages.js';
import type { MessagesRequest, Tool, ToolChoice } from './messages-request.js';

/** A schema has to be named in chat completions; the name means nothing. */
const SCHEMA_NAME = 'answer';
/** Beyond `high` the dialects have no words in common. */
const EFFORTS: ReadonlyMap<string, string> = new Map([
  ['xhigh', 'high'],
  ['max', 'high'],
]);
/** Engines that open a new turn behind a last assistant message unless they are told to go on with it. */
const WANT_CONTINUATION: ReadonlySet<EngineKind> = new Set(['vllm', 'sglang']);
/** Engines whose chat templates decide about reasoning. */
const HAVE_TEMPLATES: ReadonlySet<EngineKind> = new Set(['vllm', 'sglang', 'llamacpp']);

/** The body of the chat completions request that means the same to an engine of this kind. */
export function chatRequest(request: MessagesRequest, engine: EngineKind): Buffer {
  const { model, maxTokens, system, turns, stream, stopSequences, sampling } = request;
  return bodyOf({
    model: JSON.stringify(model),
    messages: JSON.stringify(chatMessages(system, turns)),
    ...numbersOf({ max_tokens: maxTokens, ...sampling }),
    ...(stopSequences.length > 0 && { stop: JSON.stringify(stopSequences) }),
    ...(stream && { stream: 'true', stream_options: '{"include_usage":true}' }),
    ...toolMembers(request),
    ...reasoningMembers(request, engine),
    ...formatMembers(request.answerSchema),
    ...continuationMembers(request, engine),
  });
}

/** The body of vLLM's `/tokenize`: the prompt that the same request would become. */
export function tokenizeRequest(request: MessagesRequest, engine: EngineKind): Buffer {
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

function toolMembers({ tools, toolChoice, parallelCalls }: MessagesRequest): Members {
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
    const described = description === undefined ? '' : `,"description":${JSON.stringify(description)}`;
    return `${head}${described},"parameters":${inputSchema}${strict === undefined ? '' : `,"strict":${strict}`}}}`;
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

function reasoningMembers(request: MessagesRequest, engine: EngineKind): Members {
  const { thinking, effort } = request;
  const template = templateMembers(request, engine);
  if (thinking === 'off' && !('chat_template_kwargs' in template)) return { reasoning_effort: '"none"' };
  if (effort === undefined) return template;
  return { ...template, reasoning_effort: JSON.stringify(EFFORTS.get(effort) ?? effort) };
}

function templateMembers({ thinking }: MessagesRequest, engine: EngineKind): Members {
  if (thinking !== 'off' || !HAVE_TEMPLATES.has(engine)) return {};
  return { chat_template_kwargs: '{"enable_thinking":false}' };
}

function formatMembers(schema: string | undefined): Members {
  if (schema === undefined) return {};
  const named = `{"name":${JSON.stringify(SCHEMA_NAME)},"schema":${schema}}`;
  return { response_format: `{"type":"json_schema","json_schema":${named}}` };
}

/** A last assistant turn is the beginning of the answer, unless it waits for the results of its calls. */
function continuationMembers({ turns }: MessagesRequest, engine: EngineKind): Members {
  const last = turns.at(-1);
  if (last?.role !== 'assistant' || last.calls.length > 0 || !WANT_CONTINUATION.has(engine)) return {};
  return { continue_final_message: 'true', add_generation_prompt: 'false' };
}
