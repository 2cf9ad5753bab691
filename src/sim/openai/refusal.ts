import { listFrom, objectFrom, stringFrom, type JsonObject } from '../wire/json.js';

/** A request that an engine turns away, in the engine's own words. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    /** The engine's name for this kind of error. */
    readonly type: string,
    message: string,
    readonly param: string | null = null,
  ) {
    super(message);
    this.name = 'Refusal';
  }
}

/** The body as a JSON object. Throws the refusal that `bad` makes of the reason. */
export function parseObject(body: Buffer, bad: (reason: string) => Refusal): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    throw bad('JSON decode error');
  }
  const object = objectFrom(value);
  if (object === undefined) throw bad('Input should be a valid dictionary');
  return object;
}

const isJsonObject = (text: string): boolean => {
  try {
    return objectFrom(JSON.parse(text)) !== undefined;
  } catch {
    return false;
  }
};

const badRequest = (message: string, param: string | null = null): Refusal =>
  new Refusal(400, 'BadRequestError', message, param);

/** A member that pydantic misses: vLLM reports these apart from its own refusals. */
export const missing = (member: string): Refusal =>
  new Refusal(400, 'Bad Request', `Field required: ${member}`, member);

/** Throws where vLLM refuses a chat request that is good JSON. */
export function checkVllmChat(body: JsonObject): void {
  const messages = listFrom(body['messages']);
  if (messages === undefined) throw missing('messages');
  if (messages.length === 0) throw badRequest('list index out of range');
  const tools = listFrom(body['tools']);
  if (tools?.length === 0) throw badRequest('tools must not be an empty array', 'tools');
  const choice = body['tool_choice'];
  if (choice !== undefined && choice !== null && choice !== 'none' && tools === undefined) {
    throw badRequest('When using `tool_choice`, `tools` must be set.', 'tool_choice');
  }
  checkNamedTool(choice, tools ?? []);
  messages.forEach((message) => checkReplayedCalls(objectFrom(message)));
}

function checkNamedTool(choice: unknown, tools: readonly unknown[]): void {
  const name = stringFrom(objectFrom(objectFrom(choice)?.['function'])?.['name']);
  if (name === undefined) return;
  if (tools.some((tool) => objectFrom(objectFrom(tool)?.['function'])?.['name'] === name)) return;
  throw badRequest('The tool specified in `tool_choice` does not match any of the specified `tools`', 'tool_choice');
}

/** The chat template gets the arguments of earlier calls parsed, and parses them itself. */
function checkReplayedCalls(message: JsonObject | undefined): void {
  for (const call of listFrom(message?.['tool_calls']) ?? []) {
    const text = stringFrom(objectFrom(objectFrom(call)?.['function'])?.['arguments']);
    if (text !== undefined && !isJsonObject(text)) {
      throw badRequest('Can only get item pairs from a mapping: the arguments of a tool call are not a JSON object');
    }
  }
}

/** The tokens an answer may have. Throws where prompt and answer together are over the model's length. */
export function checkLength(promptTokens: number, maxTokens: number | undefined, maxModelLen: number): number {
  if (promptTokens >= maxModelLen) {
    throw badRequest(
      `This model's maximum context length is ${maxModelLen} tokens. However, your request has ${promptTokens} input tokens. ` +
        'Please reduce the length of the input messages.',
    );
  }
  const room = maxModelLen - promptTokens;
  if (maxTokens === undefined || maxTokens <= room) return maxTokens ?? room;
  throw badRequest(
    `This model's maximum context length is ${maxModelLen} tokens. However, you requested ${promptTokens + maxTokens} tokens ` +
      `(${promptTokens} in the messages, ${maxTokens} in the completion). Please reduce the length of the messages or completion.`,
  );
}
