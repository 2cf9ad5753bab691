import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppModule } from './app.module.js';
import { systemClock } from './common/clock.js';
import { RoutingTable } from './common/config/routing-table.js';
import { networkTest } from './common/networks.js';
import type { RequestRecord } from './common/request-record.js';
import { FrontDoor } from './front-door.js';
import { Listener } from './listener.js';
import { openLane } from './open-lane.js';
import { managementServer } from './management-server.js';
import { ManagementModule } from './management.module.js';
import { AdmissionConfig } from './modules/admission/admission.config.js';
import { AdmissionSharing } from './modules/admission/admission-sharing.js';
import { PEERS_PATH } from './modules/admission/peers-client.js';
import { SlotController } from './modules/admission/slot-controller.js';
import { Budgets } from './modules/budgets/budgets.js';
import type { GatewayConfig } from './modules/config/gateway.config.js';
import { ProblemRenderer } from './modules/dialects/problem-renderer.js';
import { EngineRegistry } from './modules/engine-observer/engine-registry.js';
import { DrainIndicator } from './modules/health/drain.indicator.js';
import { tellDesk } from './modules/operator/desk-topics.js';
import { houseAbout, processName } from './modules/operator/house-about.js';
import { OperatorDesk } from './modules/operator/operator-desk.js';
import { BodyMemory } from './modules/proxy/body-memory.js';
import { EngineClient } from './modules/proxy/engine-client.js';
import { FixedPaths } from './modules/proxy/fixed-paths.js';
import { Heartbeats } from './modules/proxy/heartbeats.js';
import { PrefixProxy } from './modules/proxy/prefix-proxy.js';
import { WebSocketProxy } from './modules/proxy/websocket.js';
import { Telemetry } from './modules/telemetry/telemetry.js';
import { WorkerLink } from './modules/workers/worker-link.js';

/** Longest route parameter; the head's check has capped the whole target already. */
const MAX_PARAM_LENGTH = 8192;

/** What a start may be given besides the configuration. */
export interface StartMeans {
  /** Is shown every record once it is closed. */
  readonly watch?: (record: RequestRecord) => void;
  /** To the process that this one is a worker of; absent: it is none. */
  readonly link?: WorkerLink;
  /** Is called when all is there and nobody is served yet. */
  readonly ready?: () => void;
}

/** A gateway that serves. */
export class Gateway {
  private constructor(
    private readonly app: NestFastifyApplication,
    /** undefined: a worker, for which the primary answers. */
    private readonly management: NestFastifyApplication | undefined,
    readonly server: Listener,
    readonly door: FrontDoor,
  ) {}

  /** Boots the house and opens both listeners. Rejects, with nothing left open, where that cannot be done. */
  static async start(
    config: GatewayConfig,
    { watch, link = new WorkerLink(), ready }: StartMeans = {},
  ): Promise<Gateway> {
    let server: Listener | undefined;
    let door: FrontDoor | undefined = undefined;
    const adapter = openAdapter(
      (handler) => {
        server = new Listener(config.server, handler);
        return server.server;
      },
      () => doorOf(door),
    );
    const app = await boot(AppModule.forConfig(config, link), adapter);
    const fixed = app.get(FixedPaths);
    adapter
      .getInstance()
      .addHook('onRoute', ({ url, method }) => [method].flat().forEach((one) => fixed.add(url, one)));
    if (server === undefined) throw new Error('the HTTP server was not created');
    const desk = openDesk(app, server, config);
    if (link.tie !== undefined) tellDesk(link.tie.line, desk);
    door = openDoor(app, config, { watch, desk });
    const management =
      link.tie === undefined ? await bootManagement(ManagementModule.with(desk), app.get(AdmissionSharing)) : undefined;
    const gateway = new Gateway(app, management, server, door);
    await gateway.#listen(config, ready);
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
    return { listen: addressOf(this.app), management: this.management ? addressOf(this.management) : '' };
  }

  /** Ends both listeners and whatever still runs. */
  async close(): Promise<void> {
    this.server.destroyAll();
    await Promise.all([this.app.close(), this.management?.close()]);
  }

  async #listen({ server }: GatewayConfig, ready?: () => void): Promise<void> {
    try {
      await this.app.init();
      ready?.();
      this.server.open(this.door);
      await this.management?.listen(listenOptions(server.management));
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

/** What other gateways read once a second. */
function tellPeers(adapter: FastifyAdapter, sharing: AdmissionSharing): void {
  if (!sharing.tells) return;
  adapter.getInstance().get(PEERS_PATH, (request: FastifyRequest, reply: FastifyReply) => {
    const answer = sharing.answer(request.headers.authorization);
    if (answer === undefined) return reply.code(401).send();
    return reply.type('application/json').send(answer);
  });
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

/** The second listener, which has nothing of the first one's peculiarities. */
export async function bootManagement(
  module: Parameters<typeof boot>[0],
  sharing?: AdmissionSharing,
): Promise<NestFastifyApplication> {
  // A browser keeps sockets in reserve on which it has not said a word: they would hold up the end for a minute.
  const adapter = new FastifyAdapter({
    serverFactory: (handler: unknown) => managementServer(handler as RequestListener),
    logger: false,
    skipMiddie: true,
    multipart: false,
    forceCloseConnections: true,
  });
  const app = await boot(module, adapter);
  if (sharing !== undefined) tellPeers(adapter, sharing);
  return app;
}

function doorOf(door: FrontDoor | undefined): FrontDoor {
  if (door === undefined) throw new Error('the door is not open yet');
  return door;
}

function openDesk(app: NestFastifyApplication, server: Listener, config: GatewayConfig): OperatorDesk {
  const [readiness, sharing, budgets] = [app.get(DrainIndicator), app.get(AdmissionSharing), app.get(Budgets)];
  const house = {
    about: houseAbout(processName(), config, app.get(RoutingTable)),
    slots: app.get(SlotController),
    engines: app.get(EngineRegistry),
    live: () => server.served(),
    draining: () => readiness.draining,
    out: () => ({ admission: sharing.degraded, budgets: !budgets.storeUp }),
  };
  return new OperatorDesk(house, systemClock);
}

/** Those who are shown every record once it is closed, after the log and the metrics. */
interface Readers {
  readonly watch: ((record: RequestRecord) => void) | undefined;
  readonly desk: OperatorDesk;
}

function openDoor(app: NestFastifyApplication, { server }: GatewayConfig, { watch, desk }: Readers): FrontDoor {
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
      watch?.(record);
      desk.take(record);
    },
    tracing: telemetry.tracing,
    lane: openLane(app),
  });
}

/** `host:port`, with IPv6 in brackets, as listen options. */
export function listenOptions(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}

export function addressOf(app: NestFastifyApplication): string {
  const address: unknown = app.getHttpServer().address();
  if (typeof address !== 'object' || address === null || !('port' in address) || !('address' in address))
    return 'closed';
  const host = String(address.address);
  return `${host.includes(':') ? `[${host}]` : host}:${String(address.port)}`;
}
