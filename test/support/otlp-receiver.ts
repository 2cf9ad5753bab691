import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from './socket-world.js';

type Value = string | number | boolean;

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
  /** 0 unset, 2 error. */
  readonly status: number;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly resource: Readonly<Record<string, Value>>;
}

/** A collector that speaks OTLP over HTTP in JSON, and keeps what it gets. */
export class OtlpReceiver {
  readonly spans: ReceivedSpan[] = [];
  /** The whole text of every export. */
  readonly bodies: string[] = [];
  readonly heads: { path: string; headers: IncomingHttpHeaders }[] = [];
  /** What exports are answered. */
  status = 200;
  #server: Server | undefined;
  #port = 0;

  static async start(): Promise<OtlpReceiver> {
    const receiver = new OtlpReceiver();
    await receiver.listen();
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.#port)}`;
  }

  /** Listens, on the same port as before. */
  async listen(): Promise<void> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        this.heads.push({ path: request.url ?? '', headers: request.headers });
        if (this.status === 200) this.#take(Buffer.concat(parts).toString());
        response.writeHead(this.status, { 'content-type': 'application/json' }).end('{}');
      });
    });
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  /** The spans of the request with this id, parents first, once so many of them are there. */
  async spansOf(requestId: string, count: number): Promise<ReceivedSpan[]> {
    const found = (): ReceivedSpan[] => {
      const server = this.spans.find(({ attributes }) => attributes['gateway.request_id'] === requestId);
      return this.spans.filter(
        ({ spanId, parentSpanId }) => server !== undefined && [spanId, parentSpanId].includes(server.spanId),
      );
    };
    await eventually(() => found().length >= count);
    return found().sort((a, b) => Number(a.startNs - b.startNs));
  }

  #take(text: string): void {
    this.bodies.push(text);
    const { resourceSpans = [] } = JSON.parse(text) as Export;
    for (const { resource, scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans) this.spans.push(...spans.map((span) => received(span, resource.attributes)));
  }
}

interface Export {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, Value>>;
}

interface WireSpan extends Pick<ReceivedSpan, 'traceId' | 'spanId' | 'name' | 'kind'> {
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly Attribute[];
}

const received = (span: WireSpan, resource: readonly Attribute[]): ReceivedSpan => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  traceState: span.traceState,
  name: span.name,
  kind: span.kind,
  startNs: BigInt(span.startTimeUnixNano),
  endNs: BigInt(span.endTimeUnixNano),
  status: span.status.code,
  attributes: plain(span.attributes),
  resource: plain(resource),
});

const plain = (attributes: readonly Attribute[]): Record<string, Value> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? '']));
