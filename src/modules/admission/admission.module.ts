import { hostname } from 'node:os';
import { Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { EngineObserverModule } from '../engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../engine-observer/engine-registry.js';
import { OperatorLog } from '../../common/operator-log.js';
import { AdmissionConfig } from './admission.config.js';
import { AdmissionSharing } from './admission-sharing.js';
import { watchShortUpstreams } from './short-upstreams.js';
import { SlotController } from './slot-controller.js';

/** Decides who runs next. Every dialect gets the same SlotController. */
@Module({
  imports: [EngineObserverModule],
  providers: [
    {
      provide: AdmissionSharing,
      inject: [AdmissionConfig, ServerConfig],
      useFactory: (admission: AdmissionConfig, server: ServerConfig) =>
        new AdmissionSharing(admission, server, hostname()),
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
    this.sharing.start(this.slots, systemClock, this.log);
  }

  async onModuleDestroy(): Promise<void> {
    await this.sharing.stop();
  }
}

function slotController(
  policy: AdmissionConfig,
  table: RoutingTable,
  engines: EngineRegistry,
  log: OperatorLog,
  { identity }: AdmissionSharing,
): SlotController {
  watchShortUpstreams(table.upstreams, engines, log);
  return new SlotController(policy, table.upstreams, engines, systemClock, { identity });
}
