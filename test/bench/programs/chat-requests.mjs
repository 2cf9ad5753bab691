import { requestBytes } from './http-connection.mjs';

/** So that a large body looks like a long conversation. */
const MESSAGE_BYTES = 2048;
const FRAME_BYTES = 40;
const PROSE = 'The quick brown fox jumps over "it". '.repeat(60);

/**
 * The bytes of a chat request. `to`: { port, path, headers }. `bodyBytes`: about so many, in messages of 2 KB; 0: one
 * short message.
 */
export function chatRequest(to, { bodyBytes = 0, ...members }) {
  const body = { model: 'stub', max_tokens: 16, messages: [], ...members };
  const missing = bodyBytes - JSON.stringify(body).length;
  for (let left = missing; left > 0; left -= MESSAGE_BYTES) {
    const length = Math.max(Math.min(left, MESSAGE_BYTES) - FRAME_BYTES, 1);
    body.messages.push({ role: 'user', content: PROSE.slice(0, length) });
  }
  if (body.messages.length === 0) body.messages.push({ role: 'user', content: 'Hello' });
  return requestBytes({ ...to, body: JSON.stringify(body) });
}
