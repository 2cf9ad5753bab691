import { invalidField } from '../body-problems.js';
import type { JsonObject } from '../json-value.js';
import { booleanAt, listAt, nameAt, objectAt, optional, textAt } from '../fields.js';
import type { Tool, ToolChoice } from '../answer-request.js';

/** What is asked about tools; nothing of it is left where every tool is one that the vendor runs. */
export interface ToolTerms {
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelCalls: boolean;
}

const NO_TOOLS: ToolTerms = { tools: [], toolChoice: undefined, parallelCalls: true };

/** `schemaText` gives the source text of a tool's schema, by its position. */
export function parseTools(body: JsonObject, schemaText: (position: number) => string | undefined): ToolTerms {
  const given = optional(body['tools'], 'tools', listAt) ?? [];
  const tools = given.flatMap((value, position) => {
    const path = `tools[${position}]`;
    const tool = objectAt(value, path);
    return isVendorRun(tool, path) ? [] : [clientTool(tool, path, schemaText(position))];
  });
  const choice = optional(body['tool_choice'], 'tool_choice', objectAt);
  if (tools.length === 0) return NO_TOOLS;
  if (choice === undefined) return { ...NO_TOOLS, tools };
  const path = 'tool_choice.disable_parallel_tool_use';
  const parallelCalls = optional(choice['disable_parallel_tool_use'], path, booleanAt) !== true;
  return { tools, toolChoice: toolChoiceOf(choice, tools), parallelCalls };
}

/** Such a tool has a dated type of its own and no schema, because its service knows it. */
function isVendorRun(tool: JsonObject, path: string): boolean {
  const type = optional(tool['type'], `${path}.type`, textAt) ?? 'custom';
  return type !== 'custom' && (tool['input_schema'] ?? undefined) === undefined;
}

function clientTool(tool: JsonObject, path: string, schemaText: string | undefined): Tool {
  objectAt(tool['input_schema'], `${path}.input_schema`);
  return {
    name: nameAt(tool['name'], `${path}.name`),
    description: optional(tool['description'], `${path}.description`, textAt),
    inputSchema: schemaText ?? '{}',
    strict: optional(tool['strict'], `${path}.strict`, booleanAt),
  };
}

function toolChoiceOf(choice: JsonObject, tools: readonly Tool[]): ToolChoice {
  const type = nameAt(choice['type'], 'tool_choice.type');
  switch (type) {
    case 'auto':
    case 'any':
    case 'none':
      return { type };
    case 'tool': {
      const name = nameAt(choice['name'], 'tool_choice.name');
      if (tools.some((tool) => tool.name === name)) return { type, name };
      throw invalidField('tool_choice.name', 'names none of the tools that the client runs');
    }
    default:
      throw invalidField('tool_choice.type', 'has to be "auto", "any", "tool" or "none"');
  }
}
