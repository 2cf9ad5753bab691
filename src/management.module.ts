import { Module } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';

/**
 * The management listener: /metrics, on a port of its own that is never routed publicly. Loading this registers what Node
 * tells of the process, in workers too.
 */
@Module({ imports: [PrometheusModule.register({ path: '/metrics', defaultMetrics: { enabled: true } })] })
export class ManagementModule {}
