import { CHAT_ANSWER } from './chat-wire.js';
import type { JsonObject } from './json.js';
import { OtlpReceiver, type ReceivedSpan } from './otlp-receiver.js';
import { sendRaw, type RawResponse, type RequestParts } from './raw-client.js';
import { ScriptedEngine } from './scripted-engine.js';
import { SocketUpstream } from './socket-upstream.js';
import { eventually } from './socket-world.js';
import { startGateway, type RunningGateway } from './start-gateway.js';

/** The trace that a client is in, and its span. */
export const TRACE = '0af7651916cd43dd8448eb211c80319c';
export const CALLER = 'b7ad6b7169203331';

export const JSON_ANSWER = { body: JSON.parse(CHAT_ANSWER) as unknown };

const CLIENT_KIND = 3;

/** `traceparent` as a client sends it. */
export const parentField = (spanId = CALLER, flags = '01'): string => `00-${TRACE}-${spanId}-${flags}`;

/** What a world is started with, besides the usual. */
export interface TracedOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly tracing?: boolean;
  readonly server?: JsonObject;
}

/** A collector, an engine, a socket upstream, and a gateway between them. */
export class TracedWorld implements AsyncDisposable {
  private constructor(
    readonly receiver: OtlpReceiver,
    readonly engine: ScriptedEngine,
    readonly sockets: SocketUpstream,
    readonly gateway: RunningGateway,
  ) {}

  static async start({ env = {}, tracing = true, server = {} }: TracedOptions = {}): Promise<TracedWorld> {
    const receiver = await OtlpReceiver.start();
    const engine = await ScriptedEngine.start(JSON_ANSWER);
    const sockets = await SocketUpstream.start();
    const gateway = await startGateway(
      {
        upstreams: [
          { name: 'engine', url: engine.url, engine: 'vllm', slots: { limit: 1, perEndpoint: 1 } },
          { name: 'native', url: engine.url, engine: 'vllm', more: { dialects: ['anthropic', 'responses'] } },
          { name: 'plain', url: engine.url, engine: 'http' },
          { name: 'console', url: sockets.url, engine: 'http' },
          { name: 'dead', url: 'http://127.0.0.1:9', engine: 'vllm' },
        ],
        models: [
          { id: 'demo-chat', upstream: 'engine', operations: ['chat', 'completions', 'embeddings', 'rerank'] },
          { id: 'demo-native', upstream: 'native', operations: ['chat'] },
          { id: 'demo-dead', upstream: 'dead', operations: ['chat'] },
        ],
        proxies: [
          { prefix: '/plain', upstream: 'plain', methods: ['GET', 'POST'] },
          { prefix: '/console', upstream: 'console', websocket: true },
        ],
        server,
        telemetry: { tracing },
      },
      { env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '50', ...env } },
    );
    return new TracedWorld(receiver, engine, sockets, gateway);
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await Promise.all([this.engine.stop(), this.sockets.stop(), this.receiver.stop()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** One request with an id of its own and further fields, on a connection of its own. */
  send(id: string, request: RequestParts, fields: Readonly<Record<string, string>> = {}): Promise<RawResponse> {
    const headers = { ...(request.headers as Record<string, string>), 'x-request-id': id, ...fields };
    return sendRaw(this.gateway.port, { ...request, headers });
  }

  /** The line of the log about a request, when it has been printed. */
  async line(id: string): Promise<JsonObject> {
    const find = (): JsonObject | undefined => this.gateway.logs().find(({ request_id }) => request_id === id);
    await eventually(() => find() !== undefined);
    return find() ?? {};
  }
}

/** The span of that name. */
export function named(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name} among ${spans.map((span) => span.name).join(', ')}`);
  return found;
}

/** Tells the collector of a span that somebody else than the gateway has. */
export async function tellOf(
  receiver: OtlpReceiver,
  span: Pick<ReceivedSpan, 'name' | 'spanId' | 'parentSpanId'>,
  traceId = TRACE,
): Promise<void> {
  const times = { startTimeUnixNano: '1', endTimeUnixNano: '2' };
  const whole = { ...span, traceId, kind: CLIENT_KIND, ...times, status: { code: 0 }, attributes: [] };
  const body = { resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans: [whole] }] }] };
  await fetch(`${receiver.url}/v1/traces`, { method: 'POST', body: JSON.stringify(body) });
}
