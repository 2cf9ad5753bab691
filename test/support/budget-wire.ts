import { parseJson, objectOr } from './json.js';
import { sendRaw, type RawResponse, type RequestParts } from './raw-client.js';
import type { RunningGateway } from './start-gateway.js';

/** What an answer says that its tenant has left. */
export interface Left {
  readonly requests: number;
  readonly tokens: number;
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** The same request, sent for a tenant. */
export const sentFor = (tenant: string, request: RequestParts): RequestParts => ({
  ...request,
  headers: { ...JSON_TYPE, 'x-llmgw-session': tenant },
});

export const messagesRequest = (members: Readonly<Record<string, unknown>> = {}): RequestParts => ({
  method: 'POST',
  path: '/llm/v1/messages',
  body: JSON.stringify({
    model: 'demo-chat',
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'hi' }],
    ...members,
  }),
});

const COUNT: RequestParts = {
  method: 'POST',
  path: '/llm/v1/messages/count_tokens',
  body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }] }),
};

/** What the fields of an answer say; NaN where they do not. */
export function leftIn(answer: Pick<RawResponse, 'header'>): Left {
  const field = answer.header('ratelimit') ?? '';
  const [, requests, tokens] = /^"requests";r=(\d+);t=\d+, "tokens";r=(\d+);t=\d+$/.exec(field) ?? [];
  return { requests: Number(requests), tokens: Number(tokens) };
}

/** Asks a gateway what a tenant has left: that takes no tokens, but it is a request. */
export async function leftOf(gateway: RunningGateway, tenant: string): Promise<Left> {
  return leftIn(await sendRaw(gateway.port, sentFor(tenant, COUNT)));
}

/** A chunk that tells the usage, as an engine ends a stream with it. */
export const usageEvent = (promptTokens: number, completionTokens: number): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model: 'demo-chat',
    choices: [],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  })}\n\n`;

/** The body of a whole answer that came to so many tokens. */
export const answerOf = (promptTokens: number, completionTokens: number): string =>
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_760_000_000,
    model: 'demo-chat',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: promptTokens, completion_tokens: completionTokens },
  });

/** The tokens that a gateway has written into the line of each request of a tenant. */
export const tokensLogged = (gateway: RunningGateway, tenant: string): unknown[] =>
  gateway
    .logs()
    .filter((line) => line['tenant'] === tenant && line['route'] !== COUNT.path)
    .map(({ tokens, tokens_estimated: estimated }) => (estimated === true ? [tokens, 'estimated'] : tokens));

/** The error object of an answer. */
export const errorIn = (answer: RawResponse): unknown => objectOr(parseJson(answer.text()))['error'];
