import { RawConnection, requestBytes, type RawResponse } from '../support/raw-client.js';
import { SseFrameReader, type SseFrame } from '../support/sse-frames.js';
import type { CaseRequest } from './case-file.js';

/** What the client of a case got to see. */
export interface Received {
  /** undefined: the client left before a response was complete, and saw no head. */
  readonly response: RawResponse | undefined;
  readonly frames: readonly SseFrame[];
  /** What was left of an event that no blank line ended. */
  readonly rest: string;
}

/** Sends the case's request, with this credential for `{{apiKey}}`, and reads the answer or leaves when the case says so. */
export async function sendCase(
  { port }: { readonly port: number },
  request: CaseRequest,
  credential: string,
): Promise<Received> {
  const connection = await RawConnection.open(port);
  const reader = new SseFrameReader();
  const frames: SseFrame[] = [];
  const timer = leaveAfterMs(connection, request.abortAfterMs);
  try {
    connection.send(bytesOf(request, credential));
    const response = await connection.response({
      method: request.method,
      onBody(bytes) {
        frames.push(...reader.push(bytes));
        if (frames.length >= (request.abortAfterEvents ?? Infinity)) connection.destroy();
      },
    });
    return { response, frames, rest: reader.rest };
  } catch (error) {
    if (request.abortAfterMs === undefined) throw error;
    return { response: undefined, frames, rest: reader.rest };
  } finally {
    clearTimeout(timer);
    connection.destroy();
  }
}

function leaveAfterMs(connection: RawConnection, abortAfterMs: number | undefined): NodeJS.Timeout | undefined {
  if (abortAfterMs === undefined) return undefined;
  return setTimeout(() => {
    connection.destroy();
  }, abortAfterMs);
}

function bytesOf({ method, path, headers, body, rawBody }: CaseRequest, credential: string): Buffer {
  const filled = Object.entries(headers).map(
    ([name, value]) => [name, value.replaceAll('{{apiKey}}', credential)] as const,
  );
  const sent = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
  return requestBytes({ method, path, headers: filled, ...(sent === undefined ? {} : { body: sent }) });
}
