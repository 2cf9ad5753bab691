import { Module } from '@nestjs/common';
import { pino, type Logger } from 'pino';
import { register } from 'prom-client';
import { AdmissionModule } from '../admission/admission.module.js';
import { SlotController } from '../admission/slot-controller.js';
import { Metrics } from './metrics.js';
import { Telemetry } from './telemetry.js';
import { TelemetryConfig } from './telemetry.config.js';

/** What is told about the requests: metrics and one log line each. */
@Module({
  imports: [AdmissionModule],
  providers: [
    {
      provide: 'logger',
      inject: [TelemetryConfig],
      useFactory: (config: TelemetryConfig) => pino({ level: config.logLevel }, pino.destination({ sync: false })),
    },
    { provide: Metrics, inject: [SlotController], useFactory: metrics },
    { provide: Telemetry, inject: ['logger', Metrics], useFactory: (log: Logger, of: Metrics) => new Telemetry(log, of) },
  ],
  exports: [Telemetry],
})
export class TelemetryModule {}

function metrics(slots: SlotController): Metrics {
  const found = new Metrics(register);
  found.watchSlots(register, () => slots.snapshot());
  return found;
}
