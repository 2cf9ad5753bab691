import { isObject, type JsonObject } from '../json-value.js';

const NO_FORMAT = { type: 'text' };

/** What a response repeats of its request, as the members of a JSON object: clients expect each of them there. */
export function settingsOf(request: JsonObject): string {
  const reasoning = isObject(request['reasoning']) ? request['reasoning'] : {};
  const text = isObject(request['text']) ? request['text'] : {};
  const settings = {
    background: false,
    instructions: request['instructions'] ?? null,
    max_output_tokens: request['max_output_tokens'] ?? null,
    metadata: request['metadata'] ?? {},
    parallel_tool_calls: request['parallel_tool_calls'] ?? true,
    previous_response_id: null,
    reasoning: { effort: reasoning['effort'] ?? null, summary: reasoning['summary'] ?? null },
    store: false,
    temperature: request['temperature'] ?? null,
    text: { ...text, format: text['format'] ?? NO_FORMAT },
    tool_choice: request['tool_choice'] ?? 'auto',
    tools: request['tools'] ?? [],
    top_p: request['top_p'] ?? null,
    truncation: 'disabled',
  };
  return JSON.stringify(settings).slice(1, -1);
}
