import OpenAI from 'openai';
import type { Response as ModelResponse } from 'openai/resources/responses/responses';
import { GatewayProblem } from '../../src/common/problem/gateway-problem.js';
import {
  ResponsesRendering,
  type ResponsesRenderingTerms,
} from '../../src/modules/dialects/core/responses/responses-rendering.js';
import { objectOr, type JsonObject } from './json.js';
import { SSE } from './rendered-stream.js';
import { SseFrameReader, type SseFrame } from './sse-frames.js';
import { brokenInvariant } from './stream-invariants.js';

export const CONTEXT = { requestId: 'req-1', problemBase: 'https://problems.example/' };

export const rendering = (over: Partial<ResponsesRenderingTerms> = {}): ResponsesRendering =>
  new ResponsesRendering({
    model: 'demo-chat',
    stream: true,
    createdSeconds: 1_760_000_000,
    settings: '"store":false,"tools":[]',
    estimatedInputTokens: 17,
    context: CONTEXT,
    ...over,
  });

/** All bytes that the client gets of a stream that came in these pieces, its failure included. */
export function renderedResponse(pieces: readonly (string | Buffer)[]): Buffer {
  const one = rendering();
  one.begin(200, SSE);
  const out = pieces.map((piece) => Buffer.from(one.push(Buffer.from(piece))));
  const rest = one.end();
  return Buffer.concat([...out, Buffer.from((rest instanceof GatewayProblem ? one.failure(rest) : rest) ?? [])]);
}

/** The events, which must keep the dialect's rules. */
export function framesOf(bytes: Uint8Array, outcome: 'complete' | 'error' = 'complete'): SseFrame[] {
  const reader = new SseFrameReader();
  const frames = reader.push(bytes);
  const broken = brokenInvariant('responses', frames, outcome);
  if (broken !== undefined || reader.rest !== '') throw new Error(`${broken ?? 'half an event'}:\n${String(bytes)}`);
  return frames;
}

/** The response that the last event of these pieces' stream holds. */
export function lastResponse(
  pieces: readonly (string | Buffer)[],
  outcome: 'complete' | 'error' = 'complete',
): JsonObject {
  return objectOr(objectOr(framesOf(renderedResponse(pieces), outcome).at(-1)?.data)['response']);
}

/** What the official client's stream helper puts together of these bytes, but for their last `withheld` events. */
export async function official(bytes: Uint8Array, withheld = 0): Promise<ModelResponse> {
  const events = Buffer.from(bytes)
    .toString()
    .split(/(?<=\n\n)/);
  const body = events.slice(0, events.length - withheld).join('');
  const answer = { headers: { 'content-type': 'text/event-stream' } };
  const fetch = () => Promise.resolve(new Response(body, answer));
  const client = new OpenAI({ apiKey: 'none', maxRetries: 0, fetch });
  return client.responses.stream({ model: 'any', input: 'any' }).finalResponse();
}
