import { ask, CHAT_ANSWER, chatRequest, jsonAnswer } from './chat-wire.js';
import type { GatewayOptions, TestUpstream } from './gateway-config.js';
import { isObject, type JsonObject } from './json.js';
import { sendRaw, type RawConnection, type RawResponse, type ReadOptions, type RequestParts } from './raw-client.js';
import { eventually } from './socket-world.js';
import { startGateway, type RunningGateway, type StartOptions } from './start-gateway.js';
import { TcpEngine } from './tcp-engine.js';

// Each world is a process of its own, on a machine that may have others to run.
import.meta.jest.setTimeout(15_000);

/** What no answer of the gateway may show: names of libraries and codes, addresses, stacks. */
export const INNER_LIFE = /undici|UND_ERR|HPE_|ECONN|node:|127\.0\.0\.1:|Error:|\bat \//;

export interface EngineWorldOptions extends Omit<GatewayOptions, 'upstreams'> {
  /** Laid over the section of the upstream `engine`. */
  readonly upstream?: Partial<TestUpstream>;
  /** Upstreams besides it. */
  readonly others?: readonly TestUpstream[];
}

/** A gateway in front of one engine that a test plays by hand. The engine serves `demo-chat`. */
export class EngineWorld {
  private constructor(
    readonly engine: TcpEngine,
    readonly gateway: RunningGateway,
  ) {}

  static async start(
    { upstream, others = [], ...options }: EngineWorldOptions = {},
    how?: StartOptions,
  ): Promise<EngineWorld> {
    const engine = await TcpEngine.start();
    const gateway = await startGateway(
      {
        ...options,
        upstreams: [{ name: 'engine', url: engine.url, engine: 'openai', ...upstream }, ...others],
        models: [{ id: 'demo-chat', upstream: 'engine', operations: ['chat'] }, ...(options.models ?? [])],
      },
      how,
    );
    return new EngineWorld(engine, gateway);
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.engine.stop();
  }

  /** Sends one request on a connection of its own. */
  send(request: RequestParts, options?: ReadOptions): Promise<RawResponse> {
    return sendRaw(this.gateway.port, request, options);
  }

  /** A connection on which the request has been sent. */
  ask(request: RequestParts): Promise<RawConnection> {
    return ask(this.gateway, request);
  }

  inUse(): Promise<number | undefined> {
    return this.gateway.metric('slots_in_use', { upstream: 'engine' });
  }

  queued(): Promise<number | undefined> {
    return this.gateway.metric('admission_queue_depth', { upstream: 'engine' });
  }

  /** Settles when nobody holds a slot or waits for one. */
  async slotsFree(): Promise<void> {
    await eventually(async () => (await this.inUse()) === 0 && (await this.queued()) === 0);
  }

  /** The next caller gets its own answer, from an engine that behaves. */
  async expectNextServed(): Promise<void> {
    this.engine.play(({ socket }) => socket.write(jsonAnswer()));
    const next = await this.send(chatRequest());
    expect([next.status, next.text()]).toEqual([200, CHAT_ANSWER]);
  }
}

/** An answer of the gateway's own: whole, in its form, with nothing of its inner life. */
export function expectProblem(answer: RawResponse, status: number, code?: string): JsonObject {
  expect(answer.status).toBe(status);
  expect(answer.end).toBe('clean');
  expect(answer.header('content-type')).toBe('application/problem+json');
  const body = answer.json();
  expect(body).toMatchObject({ status, ...(code !== undefined && { type: `https://gateway.test/problems/${code}` }) });
  expect(answer.text()).not.toMatch(INNER_LIFE);
  return isObject(body) ? body : {};
}
