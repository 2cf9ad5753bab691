import { hostname } from 'node:os';
import { Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { EngineObserverModule } from '../engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../engine-observer/engine-registry.js';
import { SharedStoreModule } from '../shared-store/shared-store.module.js';
import { SharedStores } from '../shared-store/shared-stores.js';
import { OperatorLog } from '../../common/operator-log.js';
import { AdmissionConfig } from './admission.config.js';
import { AdmissionSharing } from './admission-sharing.js';
import { watchShortUpstreams } from './short-upstreams.js';
import { SlotController } from './slot-controller.js';

/** Decides who runs next. Every dialect gets the same SlotController. */
@Module({
  imports: [EngineObserverModule, SharedStoreModule],
  providers: [
    {
      provide: AdmissionSharing,
      inject: [AdmissionConfig, ServerConfig, SharedStores],
      useFactory: admissionSharing,
    },
    {
      provide: SlotController,
      inject: [AdmissionConfig, RoutingTable, EngineRegistry, OperatorLog, AdmissionSharing],
      useFactory: slotController,
    },
  ],
  exports: [SlotController, AdmissionSharing],
})
export class AdmissionModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    private readonly sharing: AdmissionSharing,
    private readonly slots: SlotController,
    private readonly log: OperatorLog,
  ) {}

  onApplicationBootstrap(): void {
    this.sharing.start(this.slots, this.log);
  }

  async onModuleDestroy(): Promise<void> {
    await this.sharing.stop();
  }
}

async function admissionSharing(
  policy: AdmissionConfig,
  { replicas, management }: ServerConfig,
  stores: SharedStores,
): Promise<AdmissionSharing> {
  const store = policy.store.startsWith('redis') ? await stores.at(policy.store) : undefined;
  return new AdmissionSharing(policy, { replicas, management, hostName: hostname() }, systemClock, store);
}

function slotController(
  policy: AdmissionConfig,
  table: RoutingTable,
  engines: EngineRegistry,
  log: OperatorLog,
  sharing: AdmissionSharing,
): SlotController {
  watchShortUpstreams(table.upstreams, engines, log);
  return new SlotController(policy, table.upstreams, engines, systemClock, { sharing });
}
