import { Module } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { EngineObserverModule } from '../engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../engine-observer/engine-registry.js';
import { AdmissionConfig } from './admission.config.js';
import { SlotController } from './slot-controller.js';

/** Decides who runs next. Every dialect gets the same SlotController. */
@Module({
  imports: [EngineObserverModule],
  providers: [
    {
      provide: SlotController,
      inject: [AdmissionConfig, RoutingTable, EngineRegistry],
      useFactory: (policy: AdmissionConfig, table: RoutingTable, engines: EngineRegistry) =>
        new SlotController(policy, table.upstreams, engines, systemClock),
    },
  ],
  exports: [SlotController],
})
export class AdmissionModule {}
