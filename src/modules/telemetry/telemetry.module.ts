import { Module } from '@nestjs/common';
import { register } from 'prom-client';
import { OperatorLog } from '../../common/operator-log.js';
import { systemClock } from '../../common/clock.js';
import { AdmissionModule } from '../admission/admission.module.js';
import { SlotController } from '../admission/slot-controller.js';
import { LogWriter } from './log-writer.js';
import { Metrics } from './metrics.js';
import { Telemetry } from './telemetry.js';
import { TelemetryConfig } from './telemetry.config.js';

/** What is told about the requests: metrics and one log line each. */
@Module({
  imports: [AdmissionModule],
  providers: [
    {
      provide: LogWriter,
      inject: [TelemetryConfig],
      useFactory: (config: TelemetryConfig) => new LogWriter(config.logLevel, systemClock),
    },
    { provide: OperatorLog, inject: [LogWriter], useFactory: (writer: LogWriter) => writer.log },
    { provide: Metrics, inject: [SlotController], useFactory: metrics },
    { provide: Telemetry, inject: [LogWriter, Metrics], useFactory: telemetry },
  ],
  exports: [OperatorLog, Telemetry],
})
export class TelemetryModule {}

function metrics(slots: SlotController): Metrics {
  const found = new Metrics(register);
  found.watchSlots(register, () => slots.snapshot());
  return found;
}

function telemetry(writer: LogWriter, of: Metrics): Telemetry {
  return new Telemetry(writer, of);
}
