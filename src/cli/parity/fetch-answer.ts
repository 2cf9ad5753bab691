import http from 'node:http';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import type { ParityRequest } from './case-file.js';

/** What one side said; `failure`: why it said nothing, or not all of it. */
export interface Answer {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly failure: string | undefined;
  readonly tookMs: number;
}

/** Sends a request on a connection of its own and reads the whole answer. Never rejects. */
export async function fetchAnswer(origin: URL, request: ParityRequest, silenceMs: number): Promise<Answer> {
  const from = performance.now();
  const heard: { response?: http.IncomingMessage; body: string } = { body: '' };
  const end = (failure: string | undefined): Answer => ({
    status: heard.response?.statusCode,
    headers: heard.response?.headers ?? {},
    body: heard.body,
    failure,
    tookMs: Math.round(performance.now() - from),
  });
  try {
    heard.response = await send(origin, request, silenceMs);
    if (heard.response.statusCode !== SWITCHING) heard.body = await text(heard.response);
    return end(undefined);
  } catch (error) {
    return end(error instanceof Error ? error.message : String(error));
  }
}

const SWITCHING = 101;

function send(origin: URL, request: ParityRequest, silenceMs: number): Promise<http.IncomingMessage> {
  const { method, path, headers, body } = request;
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  const speak = origin.protocol === 'https:' ? https.request : http.request;
  const sized = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const outgoing = speak(new URL(path, origin), {
    method,
    headers: { 'accept-encoding': 'identity', ...headers, ...sized },
    agent: false,
  });
  outgoing.setTimeout(silenceMs, () => outgoing.destroy(new Error(`silent for ${silenceMs} ms`)));
  outgoing.on('error', reject);
  outgoing.on('response', resolve);
  outgoing.on('upgrade', (response, socket) => {
    socket.destroy();
    resolve(response);
  });
  outgoing.end(body);
  return promise;
}
