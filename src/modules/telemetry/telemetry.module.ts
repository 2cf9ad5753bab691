import { Module } from '@nestjs/common';
import { register } from 'prom-client';
import { OperatorLog } from '../../common/operator-log.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { systemClock } from '../../common/clock.js';
import { AdmissionSharing } from '../admission/admission-sharing.js';
import { AdmissionModule } from '../admission/admission.module.js';
import { SlotController } from '../admission/slot-controller.js';
import { AuthModule } from '../auth/auth.module.js';
import { CallerResolver } from '../auth/caller-resolver.js';
import { Issuers } from '../auth/issuers.js';
import { Budgets } from '../budgets/budgets.js';
import { BudgetsModule } from '../budgets/budgets.module.js';
import { EngineObserverModule } from '../engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../engine-observer/engine-registry.js';
import { WorkerLink } from '../workers/worker-link.js';
import { showAuth } from './auth-metrics.js';
import { showBudgets } from './budget-metrics.js';
import { observedModels, showEngines } from './engine-metrics.js';
import { LogWriter } from './log-writer.js';
import { Metrics } from './metrics.js';
import { showPools } from './pool-metrics.js';
import { showSharing } from './sharing-metrics.js';
import { Telemetry } from './telemetry.js';
import { TelemetryConfig } from './telemetry.config.js';
import { UpstreamHealth } from './upstream-health.js';

const AUTH_SHOWN = Symbol('auth is shown');

/** What is told about the requests: metrics, one log line each, and spans where they are asked for. */
@Module({
  imports: [AdmissionModule, AuthModule, BudgetsModule, EngineObserverModule],
  providers: [
    {
      provide: LogWriter,
      inject: [TelemetryConfig, WorkerLink],
      useFactory: ({ logLevel }: TelemetryConfig, { tie }: WorkerLink) =>
        new LogWriter(logLevel, systemClock, tie?.index),
    },
    { provide: OperatorLog, inject: [LogWriter], useFactory: (writer: LogWriter) => writer.log },
    {
      provide: Metrics,
      inject: [SlotController, EngineRegistry, RoutingTable, Budgets, AdmissionSharing],
      useFactory: metrics,
    },
    { provide: AUTH_SHOWN, inject: [CallerResolver, Issuers], useFactory: authShown },
    { provide: Telemetry, inject: [LogWriter, Metrics, TelemetryConfig, RoutingTable], useFactory: telemetry },
  ],
  exports: [OperatorLog, Telemetry],
})
export class TelemetryModule {}

function metrics(
  slots: SlotController,
  engines: EngineRegistry,
  table: RoutingTable,
  budgets: Budgets,
  sharing: AdmissionSharing,
): Metrics {
  showPools(register, () => slots.snapshot());
  showBudgets(register, budgets);
  showSharing(register, sharing);
  showEngines(register, engines, observedModels(table));
  const names = table.upstreams.map(({ name }) => name);
  return new Metrics(register, new UpstreamHealth(names, (upstream) => engines.endpoints(upstream), systemClock));
}

function authShown(callers: CallerResolver, issuers: Issuers): true {
  showAuth(register, callers, issuers);
  return true;
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
