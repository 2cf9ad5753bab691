import { hashText, Prng } from '../core/prng.js';
import { fragments, wordTokens } from '../core/text.js';
import type { Ask, Tool } from './ask.js';
import { sampleFromSchema } from './json-sample.js';

/** What one token of an answer adds. A call begins with its name and id, and its arguments follow in pieces. */
export type Piece =
  | { readonly kind: 'reasoning' | 'content'; readonly text: string }
  | { readonly kind: 'call'; readonly call: number; readonly id: string; readonly name: string }
  | { readonly kind: 'arguments'; readonly call: number; readonly text: string };

export interface AnswerPlan {
  /** One for each token, in order; at least one. */
  readonly pieces: readonly Piece[];
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  /** The stop string that ended it; null: none did. */
  readonly stopReason: string | null;
}

export interface PlanOptions {
  readonly seed: number;
  /** Which of the answers to one prompt: each is another text. */
  readonly choice: number;
  /** The model thinks before it speaks. */
  readonly reasons: boolean;
  /** Tokens that still fit. */
  readonly limit: number;
}

/** Characters that a token of JSON has. */
const JSON_TOKEN = 4;

/** Decides all that the model will say: the same request, seed and choice always give the same answer. */
export function planAnswer(ask: Ask, prompt: string, options: PlanOptions): AnswerPlan {
  const prng = new Prng(hashText(prompt, options.seed) + options.choice);
  const calls = callsToMake(ask);
  const reasons = options.reasons && ask.reasoningWanted && ask.kind === 'chat';
  const thought = (): Piece[] => (reasons ? asPieces('reasoning', wordTokens(prng, 12)) : []);
  if (calls.length > 0) {
    return withinLimit(
      [...thought(), ...calls.flatMap((call, index) => callPieces(call, index, prng))],
      'tool_calls',
      options.limit,
    );
  }
  if (ask.scripted?.kind === 'say') {
    const said = asPieces('content', fragments(ask.scripted.text, JSON_TOKEN));
    return stoppedAt(ask.stop, withinLimit([...thought(), ...said], 'stop', options.limit));
  }
  if (ask.schema !== undefined) {
    const json = JSON.stringify(sampleFromSchema(ask.schema, prng));
    return withinLimit(asPieces('content', fragments(json, JSON_TOKEN)), 'stop', options.limit);
  }
  return planText(ask, prng, reasons, options.limit);
}

function planText(ask: Ask, prng: Prng, reasons: boolean, limit: number): AnswerPlan {
  const wanted = ask.outputTokens ?? (ask.ignoreEnd ? limit : prng.between(40, 90));
  const length = Math.min(wanted, limit);
  const thoughts = reasons ? Math.floor(length * 0.4) : 0;
  const pieces = [
    ...asPieces('reasoning', wordTokens(prng, thoughts)),
    ...asPieces('content', wordTokens(prng, length - thoughts)),
  ];
  const finishReason = length < wanted || (ask.ignoreEnd && length === limit) ? 'length' : 'stop';
  return stoppedAt(ask.stop, { pieces, finishReason, stopReason: null });
}

interface ToolCall extends Tool {
  /** Just these; absent: some that fit the parameters. */
  readonly argumentsJson?: string;
}

/** What the prompt prescribes, where the model is free to choose and has such a tool; otherwise what it would call. */
function callsToMake(ask: Ask): readonly ToolCall[] {
  const { scripted, toolChoice, tools } = ask;
  if (scripted === undefined || toolChoice !== 'auto') return toolsToCall(ask);
  if (scripted.kind === 'say') return [];
  const tool = tools.find(({ name }) => name === scripted.name);
  return tool === undefined ? toolsToCall(ask) : [{ ...tool, argumentsJson: scripted.argumentsJson }];
}

/** Which tools the model calls. Left to itself it calls those that the user names, and never right after a result. */
function toolsToCall(ask: Ask): readonly Tool[] {
  const { toolChoice, tools, lastUserText = '' } = ask;
  if (toolChoice === 'none') return [];
  if (typeof toolChoice === 'object') return tools.filter(({ name }) => name === toolChoice.name).slice(0, 1);
  const named = tools.filter(({ name }) => lastUserText.includes(name));
  const chosen = toolChoice === 'required' && named.length === 0 ? tools : named;
  return ask.parallelToolCalls && named.length > 0 ? chosen : chosen.slice(0, 1);
}

function callPieces({ name, parameters, ...tool }: ToolCall, call: number, prng: Prng): Piece[] {
  const argumentsJson = tool.argumentsJson ?? JSON.stringify(sampleFromSchema(parameters ?? { type: 'object' }, prng));
  const id = `chatcmpl-tool-${prng
    .between(0, 2 ** 31)
    .toString(16)
    .padStart(8, '0')}`;
  const pieces = fragments(argumentsJson, JSON_TOKEN).map((text): Piece => ({ kind: 'arguments', call, text }));
  return [{ kind: 'call', call, id, name }, ...pieces];
}

const asPieces = (kind: 'reasoning' | 'content', texts: readonly string[]): Piece[] =>
  texts.map((text) => ({ kind, text }));

function withinLimit(pieces: readonly Piece[], finishReason: AnswerPlan['finishReason'], limit: number): AnswerPlan {
  const cut = pieces.length > limit;
  return { pieces: pieces.slice(0, limit), finishReason: cut ? 'length' : finishReason, stopReason: null };
}

/** Ends the content in front of the first stop string in it, with the token that completed the string. */
function stoppedAt(stops: readonly string[], plan: AnswerPlan): AnswerPlan {
  const content = plan.pieces.map((piece) => (piece.kind === 'content' ? piece.text : '')).join('');
  const found = stops
    .map((text) => ({ text, at: content.indexOf(text) }))
    .filter(({ at }) => at !== -1)
    .toSorted((one, other) => one.at - other.at)[0];
  if (found === undefined) return plan;
  return {
    pieces: piecesUntil(plan.pieces, found.at, found.at + found.text.length),
    finishReason: 'stop',
    stopReason: found.text,
  };
}

/** The pieces whose content begins before `endsAt`, with the text from `shownUntil` on left out. */
function piecesUntil(pieces: readonly Piece[], shownUntil: number, endsAt: number): Piece[] {
  const kept: Piece[] = [];
  let at = 0;
  for (const piece of pieces) {
    if (at >= endsAt) break;
    if (piece.kind !== 'content') kept.push(piece);
    else {
      kept.push({ kind: 'content', text: piece.text.slice(0, Math.max(0, shownUntil - at)) });
      at += piece.text.length;
    }
  }
  return kept;
}
