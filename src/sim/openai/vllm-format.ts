import type { AnswerPlan, Piece } from './answer-plan.js';
import type { Ask } from './ask.js';
import type { AnswerFormat, Choice, Spent } from './generation.js';

/** How a release of vLLM differs from others. */
export interface VllmStyle {
  /** Newer releases say `reasoning`. */
  readonly reasoningField: 'reasoning_content' | 'reasoning';
  /** A tool that the caller named is streamed without `id` and `type`, and ends with `stop`. */
  readonly bareNamedCalls: boolean;
}

/** What an answer has in common with all its chunks. */
export interface AnswerIdentity {
  readonly id: string;
  /** Seconds since 1970. */
  readonly created: number;
  readonly model: string;
}

const STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', server: 'uvicorn' };

/** Members of a whole answer that say nothing here. */
const UNUSED_MEMBERS = {
  service_tier: null,
  system_fingerprint: null,
  prompt_logprobs: null,
  kv_transfer_params: null,
};

const vllmUsage = (spent: Spent): object => ({
  prompt_tokens: spent.promptTokens,
  total_tokens: spent.promptTokens + spent.completionTokens,
  completion_tokens: spent.completionTokens,
  prompt_tokens_details: { cached_tokens: spent.cachedTokens },
});

const textOf = (plan: AnswerPlan, kind: 'reasoning' | 'content'): string =>
  plan.pieces.map((piece) => (piece.kind === kind ? piece.text : '')).join('');

/** The calls of an answer, each with all its arguments. */
export function callsOf(plan: AnswerPlan): { id: string; name: string; arguments: string }[] {
  const calls: { id: string; name: string; arguments: string }[] = [];
  for (const piece of plan.pieces) {
    if (piece.kind === 'call') calls.push({ id: piece.id, name: piece.name, arguments: '' });
    const call = piece.kind === 'arguments' ? calls[piece.call] : undefined;
    if (piece.kind === 'arguments' && call !== undefined) call.arguments += piece.text;
  }
  return calls;
}

/** Chat completions as vLLM writes them. */
export function vllmChatFormat(identity: AnswerIdentity, ask: Ask, style: VllmStyle): AnswerFormat {
  const bare = style.bareNamedCalls && typeof ask.toolChoice === 'object';
  const { id, created, model } = identity;
  const chunk = (choices: readonly object[]): object => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    choices,
  });
  const delta = (index: number, change: object): object =>
    chunk([{ index, delta: change, logprobs: null, finish_reason: null }]);
  const reason = ({ finishReason }: AnswerPlan): string =>
    bare && finishReason === 'tool_calls' ? 'stop' : finishReason;
  return {
    streamHeaders: STREAM_HEADERS,
    headWithFirstEvent: false,
    opening: (index) => [delta(index, { role: 'assistant', content: '' })],
    piece: (index, piece) => {
      const change = chatDelta(piece, style, bare);
      return change === undefined ? undefined : delta(index, change);
    },
    closing: (index, plan) => [
      chunk([
        { index, delta: { content: '' }, logprobs: null, finish_reason: reason(plan), stop_reason: plan.stopReason },
      ]),
    ],
    usage: vllmUsage,
    usageChunk: (spent) => ({ ...chunk([]), usage: vllmUsage(spent) }),
    whole: (choices, spent) => ({
      ...identity,
      object: 'chat.completion',
      choices: choices.map((choice) => wholeChoice(choice, reason(choice.plan), style)),
      usage: vllmUsage(spent),
      ...UNUSED_MEMBERS,
    }),
  };
}

function chatDelta(piece: Piece, style: VllmStyle, bare: boolean): object | undefined {
  switch (piece.kind) {
    case 'reasoning':
      return { [style.reasoningField]: piece.text };
    case 'content':
      return piece.text === '' ? undefined : { content: piece.text };
    case 'arguments':
      return { tool_calls: [{ index: piece.call, function: { arguments: piece.text } }] };
    case 'call': {
      const identity = bare ? {} : { id: piece.id, type: 'function' };
      return { tool_calls: [{ ...identity, index: piece.call, function: { name: piece.name, arguments: '' } }] };
    }
  }
}

function wholeChoice({ index, plan }: Choice, finishReason: string, style: VllmStyle): object {
  const calls = callsOf(plan);
  const content = textOf(plan, 'content');
  return {
    index,
    message: {
      role: 'assistant',
      content: calls.length > 0 ? null : content,
      refusal: null,
      annotations: null,
      audio: null,
      function_call: null,
      tool_calls: calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
      [style.reasoningField]: textOf(plan, 'reasoning') || null,
    },
    logprobs: null,
    finish_reason: finishReason,
    stop_reason: plan.stopReason,
  };
}

/** Text completions as vLLM writes them. */
export function vllmCompletionsFormat({ id, created, model }: AnswerIdentity): AnswerFormat {
  const body = (choices: readonly object[]): object => ({ id, object: 'text_completion', created, model, choices });
  const choice = (index: number, text: string, plan: AnswerPlan | undefined): object => ({
    index,
    text,
    logprobs: null,
    finish_reason: plan?.finishReason ?? null,
    stop_reason: plan?.stopReason ?? null,
  });
  return {
    streamHeaders: STREAM_HEADERS,
    headWithFirstEvent: false,
    opening: () => [],
    piece: (index, piece) =>
      piece.kind === 'content' && piece.text !== '' ? body([choice(index, piece.text, undefined)]) : undefined,
    closing: (index, plan) => [body([choice(index, '', plan)])],
    usage: vllmUsage,
    usageChunk: (spent) => ({ ...body([]), usage: vllmUsage(spent) }),
    whole: (choices, spent) => ({
      ...body(choices.map(({ index, plan }) => choice(index, textOf(plan, 'content'), plan))),
      usage: vllmUsage(spent),
    }),
  };
}
