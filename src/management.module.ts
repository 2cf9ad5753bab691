import { Module } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';

/** The management listener: /metrics, on a port of its own that is never routed publicly. */
@Module({ imports: [PrometheusModule.register({ path: '/metrics', defaultMetrics: { enabled: true } })] })
export class ManagementModule {}
