import { Module } from '@nestjs/common';
import { register } from 'prom-client';
import { OperatorLog } from '../../common/operator-log.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { systemClock } from '../../common/clock.js';
import { AdmissionModule } from '../admission/admission.module.js';
import { SlotController } from '../admission/slot-controller.js';
import { EngineObserverModule } from '../engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../engine-observer/engine-registry.js';
import { showEngines } from './engine-metrics.js';
import { LogWriter } from './log-writer.js';
import { Metrics } from './metrics.js';
import { showPools } from './pool-metrics.js';
import { Telemetry } from './telemetry.js';
import { TelemetryConfig } from './telemetry.config.js';
import { UpstreamHealth } from './upstream-health.js';

/** What is told about the requests: metrics and one log line each. */
@Module({
  imports: [AdmissionModule, EngineObserverModule],
  providers: [
    {
      provide: LogWriter,
      inject: [TelemetryConfig],
      useFactory: (config: TelemetryConfig) => new LogWriter(config.logLevel, systemClock),
    },
    { provide: OperatorLog, inject: [LogWriter], useFactory: (writer: LogWriter) => writer.log },
    { provide: Metrics, inject: [SlotController, EngineRegistry, RoutingTable], useFactory: metrics },
    { provide: Telemetry, inject: [LogWriter, Metrics, TelemetryConfig, RoutingTable], useFactory: telemetry },
  ],
  exports: [OperatorLog, Telemetry],
})
export class TelemetryModule {}

function metrics(slots: SlotController, engines: EngineRegistry, table: RoutingTable): Metrics {
  const observed = table.upstreams
    .filter(({ observe }) => observe !== undefined)
    .map(({ name }) => ({
      upstream: name,
      models: table.models.filter((model) => model.upstream.name === name).map(({ id }) => id),
    }));
  showPools(register, () => slots.snapshot());
  showEngines(register, engines, observed);
  const names = table.upstreams.map(({ name }) => name);
  return new Metrics(register, new UpstreamHealth(names, (upstream) => engines.endpoints(upstream), systemClock));
}

async function telemetry(
  writer: LogWriter,
  of: Metrics,
  config: TelemetryConfig,
  table: RoutingTable,
): Promise<Telemetry> {
  if (!config.tracing) return new Telemetry(writer, of);
  // Loaded where it is asked for: switched off, it costs neither memory nor time.
  const { openTracing } = await import('./otel-tracing.js');
  const places = table.upstreams.map(
    ({ name, engine, url }) => [name, { engine, authority: authorityOf(url) }] as const,
  );
  return new Telemetry(writer, of, openTracing(new Map(places), writer.log));
}

function authorityOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  return `${hostname}:${port === '' ? (protocol === 'https:' ? '443' : '80') : port}`;
}
