import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { hostname } from 'node:os';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppModule } from './app.module.js';
import { systemClock } from './common/clock.js';
import { RoutingTable } from './common/config/routing-table.js';
import { networkTest } from './common/networks.js';
import { FrontDoor } from './front-door.js';
import { Listener } from './listener.js';
import { ManagementModule } from './management.module.js';
import { AdmissionConfig } from './modules/admission/admission.config.js';
import { SlotController } from './modules/admission/slot-controller.js';
import type { GatewayConfig } from './modules/config/gateway.config.js';
import { ProblemRenderer } from './modules/dialects/problem-renderer.js';
import { EngineRegistry } from './modules/engine-observer/engine-registry.js';
import { DrainIndicator } from './modules/health/drain.indicator.js';
import { OperatorDesk } from './modules/operator/operator-desk.js';
import { BodyMemory } from './modules/proxy/body-memory.js';
import { EngineClient } from './modules/proxy/engine-client.js';
import { FixedPaths } from './modules/proxy/fixed-paths.js';
import { Heartbeats } from './modules/proxy/heartbeats.js';
import { PrefixProxy } from './modules/proxy/prefix-proxy.js';
import { WebSocketProxy } from './modules/proxy/websocket.js';
import { Telemetry } from './modules/telemetry/telemetry.js';

/** Longest route parameter; the head's check has capped the whole target already. */
const MAX_PARAM_LENGTH = 8192;

/** A gateway that serves. */
export class Gateway {
  private constructor(
    private readonly app: NestFastifyApplication,
    private readonly management: NestFastifyApplication,
    readonly server: Listener,
    readonly door: FrontDoor,
  ) {}

  /** Boots the house and opens both listeners. Rejects, with nothing left open, where that cannot be done. */
  static async start(config: GatewayConfig): Promise<Gateway> {
    let server: Listener | undefined;
    let door: FrontDoor | undefined = undefined;
    const adapter = openAdapter(
      (handler) => {
        server = new Listener(config.server, handler);
        return server.server;
      },
      () => doorOf(door),
    );
    const app = await boot(AppModule.forConfig(config), adapter);
    const fixed = app.get(FixedPaths);
    adapter
      .getInstance()
      .addHook('onRoute', ({ url, method }) => [method].flat().forEach((one) => fixed.add(url, one)));
    if (server === undefined) throw new Error('the HTTP server was not created');
    const desk = openDesk(app, server);
    door = openDoor(app, config, desk);
    const management = await boot(
      ManagementModule.with(desk),
      // A browser keeps sockets in reserve on which it has not said a word: they would hold up the end for a minute.
      new FastifyAdapter({ logger: false, skipMiddie: true, multipart: false, forceCloseConnections: true }),
    );
    const gateway = new Gateway(app, management, server, door);
    await gateway.#listen(config);
    return gateway;
  }

  get telemetry(): Telemetry {
    return this.app.get(Telemetry);
  }

  get slots(): SlotController {
    return this.app.get(SlotController);
  }

  get sockets(): WebSocketProxy {
    return this.app.get(WebSocketProxy);
  }

  get engines(): EngineClient {
    return this.app.get(EngineClient);
  }

  get readiness(): DrainIndicator {
    return this.app.get(DrainIndicator);
  }

  /** Where it listens, as host:port. */
  addresses(): { listen: string; management: string } {
    return { listen: addressOf(this.app), management: addressOf(this.management) };
  }

  /** Ends both listeners and whatever still runs. */
  async close(): Promise<void> {
    this.server.destroyAll();
    await Promise.all([this.app.close(), this.management.close()]);
  }

  async #listen({ server }: GatewayConfig): Promise<void> {
    try {
      await this.app.init();
      this.server.open(this.door);
      await this.management.listen(listenOptions(server.management));
      await this.app.listen(listenOptions(server.listen));
    } catch (error) {
      await this.close();
      throw error;
    }
  }
}

/** Fastify on a server of our own; what it would answer by itself, the door answers. */
function openAdapter(listenWith: (handler: RequestListener) => Server, door: () => FrontDoor): FastifyAdapter {
  const adapter = new FastifyAdapter({
    serverFactory: (handler: unknown) => listenWith(handler as RequestListener),
    rewriteUrl: (request: IncomingMessage) => door().rewrite(request),
    // The client has been told already; Fastify's own handler would cut the connection under the answer.
    clientErrorHandler: () => undefined,
    frameworkErrors: (_error: unknown, request: FastifyRequest, reply: FastifyReply) => {
      reply.hijack();
      door().refuseTarget(request.raw);
    },
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    logger: false,
    forceCloseConnections: false,
    skipMiddie: true,
    multipart: false,
  });
  // Bodies stay unread until the route's guard has let the request through.
  adapter.getInstance().removeAllContentTypeParsers();
  adapter.getInstance().addContentTypeParser('*', (_request, _payload, done) => done(null));
  return adapter;
}

const boot = (
  module: Parameters<typeof NestFactory.create>[0],
  adapter: FastifyAdapter,
): Promise<NestFastifyApplication> =>
  NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: false,
    abortOnError: false,
    bodyParser: false,
  });

function doorOf(door: FrontDoor | undefined): FrontDoor {
  if (door === undefined) throw new Error('the door is not open yet');
  return door;
}

function openDesk(app: NestFastifyApplication, server: Listener): OperatorDesk {
  const readiness = app.get(DrainIndicator);
  const house = {
    slots: app.get(SlotController),
    engines: app.get(EngineRegistry),
    table: app.get(RoutingTable),
    bands: app.get(AdmissionConfig).bands,
    live: () => server.served(),
    draining: () => readiness.draining,
  };
  return new OperatorDesk(house, { host: hostname(), pid: process.pid, startedAtMs: Date.now() }, systemClock);
}

function openDoor(app: NestFastifyApplication, { server }: GatewayConfig, desk: OperatorDesk): FrontDoor {
  const proxies = app.get(PrefixProxy);
  const telemetry = app.get(Telemetry);
  return new FrontDoor({
    exchanges: {
      clock: systemClock,
      bodyMemory: app.get(BodyMemory),
      bodyTimeoutMs: server.bodyTimeoutMs,
      heartbeats: new Heartbeats(app.get(AdmissionConfig), systemClock),
      closing: false,
    },
    clock: systemClock,
    renderer: app.get(ProblemRenderer),
    sockets: app.get(WebSocketProxy),
    aliases: app.get(RoutingTable).aliases,
    isTrusted: networkTest(server.trustedProxies),
    isProxied: (path) => proxies.find(path) !== undefined,
    recorded: (record) => {
      telemetry.take(record);
      desk.take(record);
    },
  });
}

/** `host:port`, with IPv6 in brackets, as listen options. */
function listenOptions(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}

function addressOf(app: NestFastifyApplication): string {
  const address: unknown = app.getHttpServer().address();
  if (typeof address !== 'object' || address === null || !('port' in address) || !('address' in address))
    return 'closed';
  const host = String(address.address);
  return `${host.includes(':') ? `[${host}]` : host}:${String(address.port)}`;
}
