import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import { Stream } from 'openai/core/streaming';
import { GatewayProblem } from '../../src/common/problem/gateway-problem.js';
import {
  OpenAiRendering,
  type OpenAiRenderingTerms,
} from '../../src/modules/dialects/core/openai/open-ai-rendering.js';

export const SSE = { 'content-type': 'text/event-stream' };

export const terms = (over: Partial<OpenAiRenderingTerms> = {}): OpenAiRenderingTerms => ({
  engine: 'vllm',
  operation: 'chat',
  model: 'demo-chat',
  stream: true,
  choices: 1,
  usageWanted: false,
  usageAdded: true,
  vectors: 'float',
  context: { requestId: 'req-1', problemBase: 'https://problems.example/' },
  createdSeconds: 1_760_000_000,
  ...over,
});

export const streaming = (over: Partial<OpenAiRenderingTerms> = {}): OpenAiRendering => {
  const rendering = new OpenAiRendering(terms(over));
  rendering.begin(200, SSE);
  return rendering;
};

export const text = (bytes: Uint8Array | GatewayProblem | undefined): string => {
  if (bytes === undefined || bytes instanceof GatewayProblem) throw new Error(`no bytes: ${String(bytes)}`);
  return Buffer.from(bytes).toString();
};

/** All bytes that the client gets of a stream that came in these pieces, its failure included. */
export function rendered(pieces: readonly (string | Buffer)[], over: Partial<OpenAiRenderingTerms> = {}): string {
  const rendering = streaming(over);
  const out = pieces.map((piece) => Buffer.from(rendering.push(Buffer.from(piece))).toString('latin1'));
  const rest = rendering.end();
  const last = rest instanceof GatewayProblem ? rendering.failure(rest) : rest;
  out.push(last === undefined ? '<cut>' : Buffer.from(last).toString('latin1'));
  return Buffer.from(out.join(''), 'latin1').toString();
}

export const chunk = (choices: unknown, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c-1', object: 'chat.completion.chunk', created: 7, model: 'm', choices, ...more })}\n\n`;
export const delta = (members: object, finish: string | null = null, index = 0): string =>
  chunk([{ index, delta: members, logprobs: null, finish_reason: finish }]);
export const DONE = 'data: [DONE]\n\n';
export const USAGE = { prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 };

export const frames = (out: string): unknown[] =>
  out
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => (frame === 'data: [DONE]' ? '[DONE]' : (JSON.parse(frame.slice(6)) as unknown)));

/** What the official client makes of these bytes. */
export async function official(out: string): Promise<Awaited<ReturnType<ChatCompletionStream['finalChatCompletion']>>> {
  const stream = Stream.fromSSEResponse(new Response(out), new AbortController());
  return ChatCompletionStream.fromReadableStream(stream.toReadableStream()).finalChatCompletion();
}

/** The bytes in pieces that end at these places. */
export function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, at) => bytes.subarray(places[at], end));
}
