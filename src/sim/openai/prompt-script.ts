import { listFrom, objectFrom, stringFrom, type JsonObject } from '../wire/json.js';

/** What the model does in one turn: it calls a tool with just these arguments, or says just this. */
export type ScriptedTurn =
  | { readonly kind: 'call'; readonly name: string; readonly argumentsJson: string }
  | { readonly kind: 'say'; readonly text: string };

const DIRECTIVE = /^[ \t]*sim:(call|say) (.+?)[ \t]*$/gm;
const CALL = /^(\S+)[ \t]+(\{.*\})$/;

/**
 * The turn that the user's latest words prescribe, if they do. Agents add nothing to a request, so what their model is to do
 * stands in the prompt itself, one line a turn, in order, anywhere in the text:
 *
 *     sim:call read {"path":"notes.txt"}
 *     sim:say The notes are read.
 *
 * Each answer since then has played one line; behind the last one the model is left to itself. Lines that are neither form,
 * and calls whose arguments are no JSON object, are ordinary text.
 */
export function scriptedTurn(messages: readonly JsonObject[]): ScriptedTurn | undefined {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const played = messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length;
  return readScript(spokenText(messages[asked]?.['content']))[played];
}

function readScript(text: string): ScriptedTurn[] {
  return [...text.matchAll(DIRECTIVE)].flatMap(([, verb, rest = '']) => {
    const turn = verb === 'say' ? ({ kind: 'say', text: rest } as const) : readCall(rest);
    return turn === undefined ? [] : [turn];
  });
}

function readCall(text: string): ScriptedTurn | undefined {
  const [, name, argumentsJson] = CALL.exec(text) ?? [];
  if (name === undefined || argumentsJson === undefined || !isJsonObject(argumentsJson)) return undefined;
  return { kind: 'call', name, argumentsJson };
}

function isJsonObject(text: string): boolean {
  try {
    return objectFrom(JSON.parse(text)) !== undefined;
  } catch {
    return false;
  }
}

/** The text of a message's content, whether it is one string or a list of parts. */
export function spokenText(content: unknown): string {
  const parts = listFrom(content)?.map((part) => stringFrom(objectFrom(part)?.['text']) ?? '');
  return stringFrom(content) ?? parts?.join('') ?? '';
}
