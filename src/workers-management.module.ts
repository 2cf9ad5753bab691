import { Module, type DynamicModule } from '@nestjs/common';
import { MetricsOfAll, WorkersMetricsController } from './modules/telemetry/workers-metrics.controller.js';

/** The management listener of a gateway of several processes: the primary answers for all of them. */
@Module({})
export class WorkersManagementModule {
  static forMetrics(metrics: MetricsOfAll): DynamicModule {
    return {
      module: WorkersManagementModule,
      controllers: [WorkersMetricsController],
      providers: [{ provide: MetricsOfAll, useValue: metrics }],
    };
  }
}
