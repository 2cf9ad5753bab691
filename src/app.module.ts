import { Module, type DynamicModule } from '@nestjs/common';
import { GatewayConfigModule } from './modules/config/config.module.js';
import type { GatewayConfig } from './modules/config/gateway.config.js';
import { AdmissionModule } from './modules/admission/admission.module.js';
import { AuthModule } from './modules/auth/auth.module.js';
import { BudgetsModule } from './modules/budgets/budgets.module.js';
import { DialectsModule } from './modules/dialects/dialects.module.js';
import { HealthModule } from './modules/health/health.module.js';
import { ProxyModule } from './modules/proxy/proxy.module.js';
import { TelemetryModule } from './modules/telemetry/telemetry.module.js';
import type { WorkerLink } from './modules/workers/worker-link.js';
import { WorkersModule } from './modules/workers/workers.module.js';

/** The public surface. */
@Module({})
export class AppModule {
  static forConfig(config: GatewayConfig, link: WorkerLink): DynamicModule {
    return {
      module: AppModule,
      imports: [
        GatewayConfigModule.forConfig(config),
        WorkersModule.forLink(link),
        AuthModule,
        BudgetsModule,
        AdmissionModule,
        HealthModule,
        DialectsModule,
        // Everyone may write to the operator; who reads the records stays this module's own business.
        { module: TelemetryModule, global: true },
        ProxyModule,
      ],
    };
  }
}
