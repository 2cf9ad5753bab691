import { Module, type DynamicModule } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { MetricsPageController } from './metrics-page.controller.js';
import type { Desk } from './modules/operator/desk.js';
import { OperatorModule } from './modules/operator/operator.module.js';

/**
 * The management listener: /metrics and the operator's page, on a port of its own that is never routed publicly. Loading
 * this registers what Node tells of the process, in workers too.
 */
@Module({
  imports: [
    PrometheusModule.register({
      path: '/metrics',
      controller: MetricsPageController,
      defaultMetrics: { enabled: true },
    }),
  ],
})
export class ManagementModule {
  static with(desk: Desk): DynamicModule {
    return { module: ManagementModule, imports: [OperatorModule.over(desk)] };
  }
}
