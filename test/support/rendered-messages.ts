import { GatewayProblem } from '../../src/common/problem/gateway-problem.js';
import {
  AnthropicRendering,
  type AnthropicRenderingTerms,
} from '../../src/modules/dialects/core/anthropic/anthropic-rendering.js';
import { foldStream } from './fold-stream.js';
import type { JsonObject } from './json.js';
import { SSE } from './rendered-stream.js';
import { SseFrameReader, type SseFrame } from './sse-frames.js';
import { brokenInvariant } from './stream-invariants.js';

export const CONTEXT = { requestId: 'req-1', problemBase: 'https://problems.example/' };

export const rendering = (over: Partial<AnthropicRenderingTerms> = {}): AnthropicRendering =>
  new AnthropicRendering({
    model: 'demo-chat',
    stream: true,
    thinking: 'shown',
    estimatedInputTokens: 17,
    context: CONTEXT,
    ...over,
  });

/** All bytes that the client gets of a stream that came in these pieces, its failure included. */
export function renderedMessages(
  pieces: readonly (string | Buffer)[],
  over: Partial<AnthropicRenderingTerms> = {},
): Buffer {
  const one = rendering(over);
  one.begin(200, SSE);
  const out = pieces.map((piece) => Buffer.from(one.push(Buffer.from(piece))));
  const rest = one.end();
  return Buffer.concat([...out, Buffer.from((rest instanceof GatewayProblem ? one.failure(rest) : rest) ?? [])]);
}

/** The events, which must keep the dialect's rules. */
export function framesOf(bytes: Uint8Array, outcome: 'complete' | 'error' = 'complete'): SseFrame[] {
  const reader = new SseFrameReader();
  const frames = reader.push(bytes);
  const broken = brokenInvariant('anthropic', frames, outcome);
  if (broken !== undefined || reader.rest !== '') throw new Error(`${broken ?? 'half an event'}:\n${String(bytes)}`);
  return frames;
}

/** What a client makes of the stream of these pieces. */
export function foldedMessage(
  pieces: readonly (string | Buffer)[],
  over: Partial<AnthropicRenderingTerms> = {},
  outcome: 'complete' | 'error' = 'complete',
): JsonObject {
  return foldStream('anthropic', framesOf(renderedMessages(pieces, over), outcome));
}
