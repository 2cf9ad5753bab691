import { RawConnection, requestBytes, type RequestParts } from './raw-client.js';
import type { RunningGateway } from './start-gateway.js';

/** A chat request of the model `demo-chat`. */
export const chatRequest = (members: Readonly<Record<string, unknown>> = {}): RequestParts => ({
  method: 'POST',
  path: '/v1/chat/completions',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: 'hi' }], ...members }),
});

export const streamRequest = (members: Readonly<Record<string, unknown>> = {}): RequestParts =>
  chatRequest({ stream: true, ...members });

/** An event of a chat stream that needs no repair. */
export const deltaEvent = (text: string): string =>
  `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model: 'demo-chat',
    choices: [{ index: 0, delta: { role: 'assistant', content: text }, finish_reason: null }],
  })}\n\n`;

export const FINISH_EVENT = `data: ${JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_760_000_000,
  model: 'demo-chat',
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
})}\n\n`;

export const DONE_EVENT = 'data: [DONE]\n\n';

/** The body of an answer that is no stream. */
export const CHAT_ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_760_000_000,
  model: 'demo-chat',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

/** A whole answer as bytes of the wire. */
export const jsonAnswer = (body = CHAT_ANSWER, status = '200 OK', fields: readonly string[] = []): string =>
  [
    `HTTP/1.1 ${status}`,
    'content-type: application/json',
    `content-length: ${String(Buffer.byteLength(body))}`,
    ...fields,
    '',
    body,
  ].join('\r\n');

export const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';

export const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

export const LAST_CHUNK = '0\r\n\r\n';

/** A stream that is complete, in one piece. */
export const streamAnswer = (...texts: readonly string[]): string =>
  [STREAM_HEAD, ...[...texts.map(deltaEvent), FINISH_EVENT, DONE_EVENT].map(chunk), LAST_CHUNK].join('');

/** A connection on which the request has been sent. */
export async function ask(gateway: RunningGateway, request: RequestParts): Promise<RawConnection> {
  const connection = await RawConnection.open(gateway.port);
  connection.send(requestBytes(request));
  return connection;
}
