import type { Tool, ToolChoice } from '../answer-request.js';
import { invalidField } from '../body-problems.js';
import { booleanAt, listAt, nameAt, objectAt, optional, textAt } from '../fields.js';
import type { JsonObject } from '../json-value.js';

/** What is asked about tools; nothing of it is left where none of them is a function. */
export interface ToolTerms {
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | undefined;
  readonly parallelCalls: boolean;
}

/** The tools of a request, told apart: an engine can be given functions, and no others. */
interface GivenTools {
  readonly functions: readonly Tool[];
  /** The types of those that are left out, by their names. */
  readonly others: ReadonlyMap<string, string>;
}

const NO_TOOLS: ToolTerms = { tools: [], toolChoice: undefined, parallelCalls: true };
const QUOTED_CHARACTERS = 64;

/** `schemaText` gives the source text of a function's parameters, by its position. */
export function parseTools(body: JsonObject, schemaText: (position: number) => string | undefined): ToolTerms {
  const given = readTools(optional(body['tools'], 'tools', listAt) ?? [], schemaText);
  const parallelCalls = optional(body['parallel_tool_calls'], 'parallel_tool_calls', booleanAt) ?? true;
  const choice = choiceOf(body['tool_choice'] ?? undefined, given);
  const tools = choice.allowed ?? given.functions;
  return tools.length === 0 ? NO_TOOLS : { tools, toolChoice: choice.toolChoice, parallelCalls };
}

function readTools(list: readonly unknown[], schemaText: (position: number) => string | undefined): GivenTools {
  const functions: Tool[] = [];
  const others = new Map<string, string>();
  list.forEach((value, position) => {
    const path = `tools[${position}]`;
    const tool = objectAt(value, path);
    const type = nameAt(tool['type'], `${path}.type`);
    if (type === 'function') functions.push(functionOf(tool, path, schemaText(position)));
    else if (typeof tool['name'] === 'string') others.set(tool['name'], type);
  });
  return { functions, others };
}

function functionOf(tool: JsonObject, path: string, schemaText: string | undefined): Tool {
  const parameters = optional(tool['parameters'], `${path}.parameters`, objectAt);
  return {
    name: nameAt(tool['name'], `${path}.name`),
    description: optional(tool['description'], `${path}.description`, textAt),
    inputSchema: parameters === undefined ? undefined : schemaText,
    strict: optional(tool['strict'], `${path}.strict`, booleanAt),
  };
}

/** A choice that names a tool which is left out is refused: without it the answer would be another one. */
function choiceOf(
  choice: unknown,
  given: GivenTools,
): { readonly toolChoice?: ToolChoice | undefined; readonly allowed?: readonly Tool[] } {
  if (choice === undefined) return {};
  if (typeof choice === 'string') return { toolChoice: modeAt(choice, 'tool_choice') };
  const named = objectAt(choice, 'tool_choice');
  const type = nameAt(named['type'], 'tool_choice.type');
  if (type === 'allowed_tools') {
    const list = listAt(named['tools'], 'tool_choice.tools');
    const allowed = list.map((value, position) => {
      const path = `tool_choice.tools[${position}]`;
      return chosen(objectAt(value, path), path, given);
    });
    return { toolChoice: modeAt(nameAt(named['mode'], 'tool_choice.mode'), 'tool_choice.mode'), allowed };
  }
  return { toolChoice: { type: 'tool', name: chosen(named, 'tool_choice', given).name } };
}

function modeAt(mode: string, path: string): ToolChoice {
  if (mode === 'auto' || mode === 'none') return { type: mode };
  if (mode === 'required') return { type: 'any' };
  throw invalidField(path, 'has to be "auto", "required", "none" or an object that names a function');
}

/** The function that a choice names. */
function chosen(choice: JsonObject, path: string, { functions, others }: GivenTools): Tool {
  const type = nameAt(choice['type'], `${path}.type`);
  if (type !== 'function') {
    const name = typeof choice['name'] === 'string' ? ` ${quoted(choice['name'])}` : '';
    throw invalidField(path, `names the tool${name} of the type ${quoted(type)}; only functions are passed on`);
  }
  const name = nameAt(choice['name'], `${path}.name`);
  const found = functions.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const other = others.get(name);
  const fault = other === undefined ? 'is not among the tools' : `is of the type ${quoted(other)}, not a function`;
  throw invalidField(`${path}.name`, `names ${quoted(name)}, which ${fault}`);
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, QUOTED_CHARACTERS));
