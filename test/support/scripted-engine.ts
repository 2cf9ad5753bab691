import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parseJson } from './json.js';

/** One step of an answer that is written by hand. `reset` destroys the connection. */
export type ScriptStep =
  | { readonly write: string }
  | { readonly writeBase64: string }
  | { readonly delayMs: number }
  | { readonly end: true }
  | { readonly reset: true };

/** How the engine answers; at most one of `body`, `rawBody`, `sse`, `script`, `refuse` and `none`. */
export interface EngineScript {
  /** Model names that its own list shows. */
  readonly serves?: readonly string[];
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly rawBody?: string;
  /** Each string is written as one piece, then the answer ends cleanly. */
  readonly sse?: readonly string[];
  readonly script?: readonly ScriptStep[];
  /** Nothing listens. */
  readonly refuse?: true;
  /** The engine must not be asked; if it is, it answers 500 and the request is counted. */
  readonly none?: true;
  /** The answer of `POST /tokenize`; without it that route is a 404. */
  readonly tokenize?: unknown;
}

/** A request as the engine received it. */
export interface EngineRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value … as they came. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** The connection was closed before the engine had finished answering. */
  readonly aborted: boolean;
}

/** Chooses the answer to one request; `call` counts from 0. */
export type Answer = (request: EngineRequest, call: number) => EngineScript;

type Recorded = { -readonly [K in keyof EngineRequest]: EngineRequest[K] };

const DEFAULT_SERVES = ['demo-chat', 'demo-embed', 'demo-rerank'];

/** A model server that answers every request as it was told to, and remembers what it was asked. */
export class ScriptedEngine {
  /** The requests that count: no model lists, gauges, tokenizing or other questions about the engine. */
  requests: EngineRequest[] = [];
  /** All the others. */
  asides: EngineRequest[] = [];
  private answer: Answer;
  private server: Server | undefined;
  private port = 0;

  private constructor(answer: Answer) {
    this.answer = answer;
  }

  static async start(answer: EngineScript | Answer = { none: true }): Promise<ScriptedEngine> {
    const engine = new ScriptedEngine(answerOf(answer));
    await engine.listen();
    return engine;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}`;
  }

  get lastRequest(): EngineRequest | undefined {
    return this.requests.at(-1);
  }

  /** From now on answers this way; what was asked before is forgotten. */
  async play(answer: EngineScript | Answer): Promise<void> {
    this.answer = answerOf(answer);
    this.requests = [];
    this.asides = [];
    if (typeof answer !== 'function' && answer.refuse === true) await this.stop();
    else if (this.server === undefined) await this.listen();
  }

  /** Closes the listener and every connection. */
  async stop(): Promise<void> {
    const server = this.server;
    if (server === undefined) return;
    this.server = undefined;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  /** Settles when the last counted request has been aborted, or with false when that takes too long. */
  async sawAbort(withinMs = 5_000): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    while (this.lastRequest?.aborted !== true && performance.now() < deadline) await delay(10);
    return this.lastRequest?.aborted === true;
  }

  private async listen(): Promise<void> {
    const server = createServer((request, response) => {
      // A connection that breaks while a request is read or answered is what some scripts are about.
      this.serve(request, response).catch(() => response.destroy());
    });
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  private aside(request: EngineRequest, path: string): EngineScript {
    if (request.method === 'POST' && path === '/tokenize') {
      const { tokenize } = this.answer(request, this.requests.length);
      return tokenize === undefined ? { status: 404, body: {} } : { body: tokenize };
    }
    if (path !== '/v1/models') return { body: {} };
    const { serves = DEFAULT_SERVES } = this.answer(request, this.requests.length);
    return { body: { object: 'list', data: serves.map(listedModel) } };
  }

  private async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await record(incoming, response);
    const path = request.path.replace(/\?.*/, '');
    if (isAside(request.method, path)) {
      this.asides.push(request);
      await perform(this.aside(request, path), response);
      return;
    }
    const call = this.requests.push(request) - 1;
    await perform(this.answer(request, call), response);
  }
}

const answerOf = (answer: EngineScript | Answer): Answer => (typeof answer === 'function' ? answer : () => answer);

async function record(incoming: IncomingMessage, response: ServerResponse): Promise<Recorded> {
  const request: Recorded = {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    rawHeaders: incoming.rawHeaders,
    body: Buffer.alloc(0),
    aborted: false,
  };
  response.on('close', () => {
    request.aborted = !response.writableFinished;
  });
  request.body = Buffer.concat(await incoming.toArray());
  return request;
}

const isAside = (method: string, path: string): boolean =>
  method === 'GET' || method === 'HEAD' || (method === 'POST' && ['/tokenize', '/api/show'].includes(path));

const listedModel = (id: string) => ({ id, object: 'model', created: 1_760_000_000, owned_by: 'engine' });

async function perform(script: EngineScript, response: ServerResponse): Promise<void> {
  const steps = stepsOf(script);
  const isStream = script.sse !== undefined || script.script !== undefined;
  const type = isStream ? 'text/event-stream' : 'application/json';
  response.writeHead(script.none === true ? 500 : (script.status ?? 200), { 'content-type': type, ...script.headers });
  // An engine sends the head of a stream before its first event; one that breaks down at once sends nothing.
  if (isStream && !('reset' in (steps[0] ?? {}))) response.flushHeaders();
  const left = new AbortController();
  response.on('close', () => {
    left.abort();
  });
  for (const step of steps) {
    if (response.destroyed) return;
    await take(step, response, left.signal);
  }
}

function stepsOf(script: EngineScript): readonly ScriptStep[] {
  const end: ScriptStep = { end: true };
  if (script.script !== undefined) {
    const ends = script.script.some((step) => 'end' in step || 'reset' in step);
    return ends ? script.script : [...script.script, end];
  }
  if (script.sse !== undefined) return [...script.sse.map((write) => ({ write })), end];
  if (script.rawBody !== undefined) return script.rawBody === '' ? [end] : [{ write: script.rawBody }, end];
  const body = script.none === true ? { error: { message: 'this engine must not be asked' } } : script.body;
  return [{ write: JSON.stringify(body ?? {}) }, end];
}

async function take(step: ScriptStep, response: ServerResponse, left: AbortSignal): Promise<void> {
  if ('write' in step) await written(response, Buffer.from(step.write));
  else if ('writeBase64' in step) await written(response, Buffer.from(step.writeBase64, 'base64'));
  else if ('delayMs' in step) await delay(step.delayMs, undefined, { signal: left }).catch(() => undefined);
  else if ('end' in step) response.end();
  else response.destroy();
}

/** One write, one piece: the next one is made only when this one has been handed to the system. */
async function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  await new Promise<void>((resolve) => {
    response.write(bytes, () => {
      resolve();
    });
  });
}

/** The JSON body of a request that the engine received. */
export const jsonOf = (request: EngineRequest | undefined): unknown =>
  request === undefined ? undefined : parseJson(request.body.toString('utf8'));
