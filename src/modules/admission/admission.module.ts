import { Module } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { AdmissionConfig } from './admission.config.js';
import { SlotController } from './slot-controller.js';

/** Decides who runs next. Every dialect gets the same SlotController. */
@Module({
  providers: [
    {
      provide: SlotController,
      inject: [AdmissionConfig, RoutingTable],
      useFactory: (policy: AdmissionConfig, table: RoutingTable) =>
        new SlotController(policy, table.upstreams, systemClock),
    },
  ],
  exports: [SlotController],
})
export class AdmissionModule {}
