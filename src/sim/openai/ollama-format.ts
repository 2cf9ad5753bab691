import type { AnswerPlan, Piece } from './answer-plan.js';
import type { AnswerFormat, Choice, Spent } from './generation.js';
import { callsOf, type AnswerIdentity } from './vllm-format.js';

const COMMON = { system_fingerprint: 'fp_ollama' };
const STREAM_HEADERS = { 'content-type': 'text/event-stream' };

const ollamaUsage = (spent: Spent): object => ({
  prompt_tokens: spent.promptTokens,
  completion_tokens: spent.completionTokens,
  total_tokens: spent.promptTokens + spent.completionTokens,
});

const textOf = (plan: AnswerPlan, kind: 'reasoning' | 'content'): string =>
  plan.pieces.map((piece) => (piece.kind === kind ? piece.text : '')).join('');

/** Every call says it is the first: Ollama numbers those of one message, and sends each in a message of its own. */
const toolCalls = (plan: AnswerPlan): object[] =>
  callsOf(plan).map(({ id, ...called }) => ({
    id: `call_${id.slice(-8)}`,
    index: 0,
    type: 'function',
    function: called,
  }));

/** Chat completions as Ollama writes them: the role in every chunk, a call whole and in one piece. */
export function ollamaChatFormat(identity: AnswerIdentity, callsEndWith: 'tool_calls' | 'stop'): AnswerFormat {
  const { id, created, model } = identity;
  const chunk = (choices: readonly object[]): object => ({
    id,
    object: 'chat.completion.chunk',
    created,
    model,
    ...COMMON,
    choices,
  });
  const delta = (change: object, finishReason: string | null = null): object =>
    chunk([{ index: 0, delta: { role: 'assistant', content: '', ...change }, finish_reason: finishReason }]);
  const reason = ({ finishReason }: AnswerPlan): string =>
    finishReason === 'tool_calls' ? callsEndWith : finishReason;
  return {
    streamHeaders: STREAM_HEADERS,
    headWithFirstEvent: true,
    opening: () => [],
    piece: (_, piece) => {
      const change = chatDelta(piece);
      return change === undefined ? undefined : delta(change);
    },
    closing: (_, plan) => [...toolCalls(plan).map((call) => delta({ tool_calls: [call] })), delta({}, reason(plan))],
    usage: ollamaUsage,
    usageChunk: (spent) => ({ ...chunk([]), usage: ollamaUsage(spent) }),
    whole: (choices, spent) => ({
      id,
      object: 'chat.completion',
      created,
      model,
      ...COMMON,
      choices: choices.map((choice) => wholeChoice(choice, reason(choice.plan))),
      usage: ollamaUsage(spent),
    }),
  };
}

function chatDelta(piece: Piece): object | undefined {
  if (piece.kind === 'reasoning') return { reasoning: piece.text };
  return piece.kind === 'content' && piece.text !== '' ? { content: piece.text } : undefined;
}

function wholeChoice({ plan }: Choice, finishReason: string): object {
  const reasoning = textOf(plan, 'reasoning');
  const calls = toolCalls(plan);
  const message = {
    role: 'assistant',
    content: textOf(plan, 'content'),
    ...(reasoning === '' ? {} : { reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return { index: 0, message, finish_reason: finishReason };
}

/** Text completions as Ollama writes them. */
export function ollamaCompletionsFormat({ id, created, model }: AnswerIdentity): AnswerFormat {
  const body = (choices: readonly object[]): object => ({
    id,
    object: 'text_completion',
    created,
    model,
    ...COMMON,
    choices,
  });
  const choice = (text: string, finishReason: string | null): object => ({
    text,
    index: 0,
    finish_reason: finishReason,
  });
  return {
    streamHeaders: STREAM_HEADERS,
    headWithFirstEvent: true,
    opening: () => [],
    piece: (_, piece) => (piece.kind === 'content' && piece.text !== '' ? body([choice(piece.text, null)]) : undefined),
    closing: (_, plan) => [body([choice('', plan.finishReason)])],
    usage: ollamaUsage,
    usageChunk: (spent) => ({ ...body([]), usage: ollamaUsage(spent) }),
    whole: (choices, spent) => ({
      ...body(choices.map(({ plan }) => choice(textOf(plan, 'content'), plan.finishReason))),
      usage: ollamaUsage(spent),
    }),
  };
}
