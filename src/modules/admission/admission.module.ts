import { hostname } from 'node:os';
import { randomBytes } from 'node:crypto';
import { Module, type BeforeApplicationShutdown } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { EngineObserverModule } from '../engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../engine-observer/engine-registry.js';
import { SharedStoreModule } from '../shared-store/shared-store.module.js';
import { SharedStores } from '../shared-store/shared-stores.js';
import { OperatorLog } from '../../common/operator-log.js';
import { AdmissionConfig } from './admission.config.js';
import { GatewaySharing, indexOf, watchSharing } from './gateway-sharing.js';
import { watchShortUpstreams } from './short-upstreams.js';
import { SlotController } from './slot-controller.js';

/** Decides who runs next. Every dialect gets the same SlotController. */
@Module({
  imports: [EngineObserverModule, SharedStoreModule],
  providers: [
    {
      provide: GatewaySharing,
      inject: [AdmissionConfig, ServerConfig, SharedStores, OperatorLog],
      useFactory: gatewaySharing,
    },
    {
      provide: SlotController,
      inject: [AdmissionConfig, RoutingTable, EngineRegistry, OperatorLog, GatewaySharing],
      useFactory: slotController,
    },
  ],
  exports: [SlotController],
})
export class AdmissionModule implements BeforeApplicationShutdown {
  constructor(private readonly sharing: GatewaySharing) {}

  beforeApplicationShutdown(): void {
    this.sharing.close();
  }
}

async function gatewaySharing(
  { store, peersSecretFile }: AdmissionConfig,
  { replicas, management }: ServerConfig,
  stores: SharedStores,
  log: OperatorLog,
): Promise<GatewaySharing> {
  const place = {
    index: indexOf(hostname(), management, replicas),
    gateways: replicas,
    epoch: randomBytes(9).toString('base64url'),
  };
  const exact = store.startsWith('redis') ? await stores.at(store) : undefined;
  const means = { store: exact, secretFile: peersSecretFile };
  watchSharing(means, log);
  return new GatewaySharing(place, means, systemClock);
}

function slotController(
  policy: AdmissionConfig,
  table: RoutingTable,
  engines: EngineRegistry,
  log: OperatorLog,
  sharing: GatewaySharing,
): SlotController {
  watchShortUpstreams(table.upstreams, engines, log);
  return new SlotController(policy, table.upstreams, engines, systemClock, { sharing });
}
