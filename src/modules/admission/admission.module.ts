import { Module } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { EngineObserverModule } from '../engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../engine-observer/engine-registry.js';
import { OperatorLog } from '../../common/operator-log.js';
import { AdmissionConfig } from './admission.config.js';
import { watchShortUpstreams } from './short-upstreams.js';
import { SlotController } from './slot-controller.js';

/** Decides who runs next. Every dialect gets the same SlotController. */
@Module({
  imports: [EngineObserverModule],
  providers: [
    {
      provide: SlotController,
      inject: [AdmissionConfig, RoutingTable, EngineRegistry, OperatorLog],
      useFactory: slotController,
    },
  ],
  exports: [SlotController],
})
export class AdmissionModule {}

function slotController(
  policy: AdmissionConfig,
  table: RoutingTable,
  engines: EngineRegistry,
  log: OperatorLog,
): SlotController {
  watchShortUpstreams(table.upstreams, engines, log);
  return new SlotController(policy, table.upstreams, engines, systemClock);
}
