import { Module } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { OperatorLog } from '../../common/operator-log.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { AdmissionModule } from '../admission/admission.module.js';
import { SlotController } from '../admission/slot-controller.js';
import { AuthConfig } from '../auth/auth.config.js';
import { AuthModule } from '../auth/auth.module.js';
import { CallerResolver } from '../auth/caller-resolver.js';
import { BodyMemory, defaultBodyMemoryBytes } from './body-memory.js';
import { Budgets } from '../budgets/budgets.js';
import { BudgetsModule } from '../budgets/budgets.module.js';
import { Admittance } from './admittance.js';
import { EngineClient } from './engine-client.js';
import { EngineQuery } from './engine-query.js';
import { FixedPaths } from './fixed-paths.js';
import { Forwarder } from './forwarder.js';
import { PrefixProxy } from './prefix-proxy.js';
import { PrefixProxyController } from './prefix-proxy.controller.js';
import { ProxiesConfig } from './proxies.config.js';
import { Relay } from './relay.js';
import { UpstreamCredentials } from './upstream-credentials.js';
import { WebSocketDialler } from './websocket-dialler.js';
import { WebSocketProxy } from './websocket.js';

/** Bytes in, bytes out: the sockets to the upstreams, and the plain prefixes. */
@Module({
  imports: [AuthModule, BudgetsModule, AdmissionModule],
  controllers: [PrefixProxyController],
  providers: [
    { provide: UpstreamCredentials, inject: [RoutingTable, OperatorLog], useFactory: credentials },
    { provide: EngineClient, inject: [UpstreamCredentials], useFactory: engines },
    { provide: EngineQuery, inject: [EngineClient], useFactory: (of: EngineClient) => new EngineQuery(of) },
    FixedPaths,
    { provide: BodyMemory, inject: [ServerConfig], useFactory: bodyMemory },
    { provide: Admittance, inject: [Budgets, SlotController], useFactory: admittance },
    { provide: Relay, inject: [EngineClient], useFactory: (engines: EngineClient) => new Relay(engines) },
    {
      provide: Forwarder,
      inject: [Admittance, Relay],
      useFactory: (admittance: Admittance, relay: Relay) => new Forwarder(admittance, relay),
    },
    {
      provide: PrefixProxy,
      inject: [ProxiesConfig, AuthConfig, RoutingTable, Forwarder],
      useFactory: prefixProxy,
    },
    {
      provide: WebSocketDialler,
      inject: [RoutingTable, UpstreamCredentials],
      useFactory: (table: RoutingTable, of: UpstreamCredentials) => new WebSocketDialler(table, of, systemClock),
    },
    {
      provide: WebSocketProxy,
      inject: [PrefixProxy, Admittance, CallerResolver, WebSocketDialler, BodyMemory],
      useFactory: sockets,
    },
  ],
  exports: [Admittance, BodyMemory, EngineClient, EngineQuery, FixedPaths, Forwarder, WebSocketProxy],
})
export class ProxyModule {}

function bodyMemory(server: ServerConfig): BodyMemory {
  return new BodyMemory((server.bodyMemoryBytes ?? defaultBodyMemoryBytes()) / server.workers);
}

function admittance(budgets: Budgets, slots: SlotController): Admittance {
  return new Admittance(budgets, slots);
}

function prefixProxy(proxies: ProxiesConfig, auth: AuthConfig, table: RoutingTable, forwarder: Forwarder): PrefixProxy {
  return new PrefixProxy(proxies, auth, table, forwarder);
}

function sockets(
  proxies: PrefixProxy,
  admittance: Admittance,
  callers: CallerResolver,
  dialler: WebSocketDialler,
  memory: BodyMemory,
): WebSocketProxy {
  return new WebSocketProxy(proxies, admittance, callers, dialler, { clock: systemClock, memory });
}

function credentials(table: RoutingTable, log: OperatorLog): UpstreamCredentials {
  return new UpstreamCredentials(table.upstreams, (message) => log.error({}, message));
}

function engines(of: UpstreamCredentials): EngineClient {
  return new EngineClient(of);
}
