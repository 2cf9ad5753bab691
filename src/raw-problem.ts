import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WholeResponse } from './common/rendering.js';

/** How long the other side may take to read the answer and close. */
const LINGER_MS = 500;

/** Writes a complete response to a socket that no HTTP parser looks after, and closes it. */
export function writeRawProblem(socket: Duplex, response: WholeResponse, requestId: string): void {
  const lines = [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ''}`, `x-request-id: ${requestId}`];
  for (let i = 0; i + 1 < response.headers.length; i += 2)
    lines.push(`${response.headers[i]}: ${response.headers[i + 1]}`);
  lines.push(`content-length: ${response.body.length}`, 'connection: close', '', '');
  socket.on('error', () => socket.destroy());
  socket.end(Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), response.body]));
  // Unread bytes would turn the close into a reset that overtakes the answer.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
