import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from './json.js';
import {
  RawConnection,
  requestBytes,
  sendRaw,
  type RawResponse,
  type ReadOptions,
  type RequestParts,
} from './raw-client.js';
import { startGateway, type RunningGateway } from './start-gateway.js';

/** A request as the plain upstream received it. */
export interface SeenRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Lower case, as often as they came. */
  readonly rawNames: readonly string[];
  readonly body: string;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const served: Handler = (_request, response) => void response.end('served');

/** A gateway with two prefixes: `/cut` is stripped, `/kept` is not and lets cookies through. */
export class PrefixWorld {
  seen: SeenRequest[] = [];
  answer: Handler = served;

  private constructor(
    private readonly server: Server,
    readonly gateway: RunningGateway,
  ) {}

  static async start(gatewaySection: JsonObject = {}): Promise<PrefixWorld> {
    const server = createServer((request, response) => void world?.serve(request, response));
    let world: PrefixWorld | undefined = undefined;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const gateway = await startGateway({
      upstreams: [{ name: 'plain', url: urlOf(server), engine: 'http' }],
      proxies: [
        { prefix: '/cut', upstream: 'plain', methods: ['GET', 'POST'], more: { maxBody: '64KiB' } },
        {
          prefix: '/kept',
          upstream: 'plain',
          methods: ['GET'],
          more: { stripPrefix: false, forward: ['cookie', 'set-cookie'] },
        },
      ],
      server: gatewaySection,
    });
    world = new PrefixWorld(server, gateway);
    return world;
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    this.server.close();
    this.server.closeAllConnections();
  }

  /** Forgets what was asked, and answers `served` again. */
  reset(): void {
    this.seen = [];
    this.answer = served;
  }

  get upstreamHost(): string {
    return new URL(urlOf(this.server)).host;
  }

  send(request: Partial<RequestParts> = {}, options?: ReadOptions): Promise<RawResponse> {
    return sendRaw(this.gateway.port, { method: 'GET', path: '/cut/x', ...request }, options);
  }

  /** A connection on which `GET /cut/x` has been asked. */
  async ask(): Promise<RawConnection> {
    const connection = await RawConnection.open(this.gateway.port);
    connection.send(requestBytes({ method: 'GET', path: '/cut/x' }));
    return connection;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat((await request.toArray()) as Buffer[]).toString();
    const rawNames = request.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
    this.seen.push({
      method: request.method ?? '',
      target: request.url ?? '',
      headers: request.headers,
      rawNames,
      body,
    });
    this.answer(request, response);
  }
}

const urlOf = (server: Server): string => `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
