import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayOptions } from './gateway-config.js';
import { isObject } from './json.js';
import { RawConnection, requestBytes, sendRaw, type RawResponse, type RequestParts } from './raw-client.js';
import { startGateway, type RunningGateway, type StartOptions } from './start-gateway.js';
import { WireUpstream } from './wire-upstream.js';

/** How long a connection may take to be closed behind a refusal; the gateway lingers for half a second. */
const CLOSE_TIMEOUT_MS = 5_000;

export const CHAT = '/v1/chat/completions';
const JSON_TYPE = { 'content-type': 'application/json' };

/** The body of a small chat request; `marker` comes back as the answer. */
export const chatBody = (marker: string, more: object = {}): string =>
  JSON.stringify({ model: 'demo-chat', messages: [{ role: 'user', content: `mark-${marker}` }], ...more });

/** A chat request that is beyond reproach. */
export const chatRequest = (marker: string): RequestParts => ({
  method: 'POST',
  path: CHAT,
  headers: { host: 'gateway.test', ...JSON_TYPE },
  body: chatBody(marker),
});

/** A gateway in front of one upstream that serves every operation and two prefixes, seen from raw sockets. */
export class EdgeWorld {
  private constructor(
    readonly gateway: RunningGateway,
    readonly upstream: WireUpstream,
  ) {}

  /** `options`: laid over those below; a function is given the upstream's address. */
  static async start(
    options: Partial<GatewayOptions> | ((url: string) => Partial<GatewayOptions>) = {},
    start: StartOptions = {},
  ): Promise<EdgeWorld> {
    const upstream = await WireUpstream.start();
    const { url } = upstream;
    const gateway = await startGateway(
      {
        upstreams: [
          { name: 'engine', url, engine: 'openai', slots: { limit: 4, perEndpoint: 4 } },
          { name: 'plain', url, engine: 'http', slots: { limit: 4, perEndpoint: 4 } },
        ],
        models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat', 'completions', 'embeddings', 'rerank'] }],
        aliases: [{ path: '/v1/alias/chat/completions', operation: 'chat', model: 'demo-chat' }],
        proxies: [
          { prefix: '/plain', upstream: 'plain', methods: ['GET', 'POST', 'PUT', 'DELETE'] },
          { prefix: '/asked', upstream: 'plain', methods: ['QUERY'] },
          { prefix: '/kept', upstream: 'plain', more: { stripPrefix: false, forward: ['cookie', 'set-cookie'] } },
        ],
        ...(typeof options === 'function' ? options(url) : options),
      },
      start,
    ).catch(async (error: unknown) => {
      await upstream.stop();
      throw error;
    });
    return new EdgeWorld(gateway, upstream);
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.upstream.stop();
  }

  connect(): Promise<RawConnection> {
    return RawConnection.open(this.gateway.port);
  }

  /** One request on a connection of its own. */
  ask(request: RequestParts): Promise<RawResponse> {
    return sendRaw(this.gateway.port, request);
  }

  /** A JSON body to a route that takes one. */
  post(
    body: string | Uint8Array,
    path = CHAT,
    headers: Readonly<Record<string, string>> = JSON_TYPE,
  ): Promise<RawResponse> {
    return this.ask({ method: 'POST', path, headers, body });
  }

  /** What an ordinary request is answered: its own marker, or something is wrong. */
  async canary(marker: string): Promise<unknown> {
    return contentOf(await this.ask(chatRequest(marker)));
  }

  /**
   * Sends bytes, and a valid request behind them in the same packet. Settles with the only answer once the gateway has
   * closed the connection; rejects where there is a second answer.
   */
  async refusal(bytes: string | Uint8Array, method = 'POST'): Promise<RawResponse> {
    const connection = await this.connect();
    try {
      connection.send(Buffer.concat([asBytes(bytes), requestBytes(chatRequest('smuggled'))]));
      const response = await connection.response({ method });
      await closedInTime(connection);
      await expect(connection.response()).rejects.toThrow('without a response');
      return response;
    } finally {
      connection.destroy();
    }
  }

  /** Settles when the line about a request is in the log, and with it everything before; the test's time is the limit. */
  async logged(response: RawResponse): Promise<void> {
    const id = response.header('x-request-id') ?? '';
    while (!this.gateway.output().includes(`"request_id":"${id}"`)) await delay(20);
  }

  /** Slots that are held, of all upstreams together. */
  slotsInUse(): Promise<number | undefined> {
    return this.gateway.metric('slots_in_use');
  }
}

const asBytes = (bytes: string | Uint8Array): Uint8Array =>
  typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;

/** Settles when the gateway has closed the connection; rejects where it does not. */
export async function closedInTime(connection: RawConnection): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new Error('the gateway did not close the connection'));
  }, CLOSE_TIMEOUT_MS);
  try {
    await Promise.race([connection.closed, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** The text of a completion. */
export function contentOf(response: RawResponse): unknown {
  const body = response.json() as { choices?: { message?: { content?: unknown } }[] } | undefined;
  return body?.choices?.[0]?.message?.content;
}

const INSIDES = /node_modules|\/dist\/|\.js\b|\bat \w+ \(|fastify|undici|nestjs|FST_|HPE_|ERR_|ECONN|127\.0\.0\.1|::1/i;

/** Claims what every refusal must be: a problem in the words of RFC 9457 and of the dialect, and nothing of our insides. */
export function expectProblem(response: RawResponse, ...statuses: readonly number[]): void {
  expect(statuses).toContain(response.status);
  expect(response.header('content-type')).toBe('application/problem+json');
  expect(response.header('x-content-type-options')).toBe('nosniff');
  expect(response.end).toBe('clean');
  const problem = response.json();
  const requestId = response.header('x-request-id');
  expect(requestId).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  expect(problem).toMatchObject({
    status: response.status,
    request_id: requestId,
    title: expect.any(String),
    detail: expect.any(String),
    instance: expect.stringContaining(requestId ?? '?'),
    error: { message: expect.any(String), type: expect.any(String) },
  });
  // Under /llm, `type` is the word that clients of that dialect look for, and the slug stands beside it.
  expect(problem).toMatchObject(
    response.header('request-id') === undefined
      ? {
          type: expect.stringMatching(/^https:\/\/gateway\.test\/problems\/[a-z-]+$/),
          error: { code: expect.any(String) },
        }
      : { type: 'error', code: expect.stringMatching(/^[a-z-]+$/) },
  );
  expect(isObject(problem) && 'stack' in problem).toBe(false);
  expect(response.text()).not.toMatch(INSIDES);
  expect(response.header('server')).toBeUndefined();
}
