import { Module, type DynamicModule } from '@nestjs/common';
import type { Desk } from './modules/operator/desk.js';
import { OperatorModule } from './modules/operator/operator.module.js';
import { MetricsOfAll, WorkersMetricsController } from './modules/telemetry/workers-metrics.controller.js';
import { sharedRendering } from './shared-rendering.js';

/** The management listener of a gateway of several processes: the primary answers for all of them. */
@Module({})
export class WorkersManagementModule {
  static over(metrics: MetricsOfAll, desk: Desk): DynamicModule {
    return {
      module: WorkersManagementModule,
      imports: [OperatorModule.over(desk)],
      controllers: [WorkersMetricsController],
      providers: [{ provide: MetricsOfAll, useValue: { render: sharedRendering(() => metrics.render()) } }],
    };
  }
}
