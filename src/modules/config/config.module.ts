import { Module, type DynamicModule, type InjectionToken } from '@nestjs/common';
import { ConfigModule, registerAs } from '@nestjs/config';
import { BandNames } from '../../common/band-names.js';
import { OperationsConfig } from '../../common/config/operations.config.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { AdmissionConfig } from '../admission/admission.config.js';
import { AuthConfig } from '../auth/auth.config.js';
import { BudgetsConfig } from '../budgets/budgets.config.js';
import { ProxiesConfig } from '../proxy/proxies.config.js';
import { TelemetryConfig } from '../telemetry/telemetry.config.js';
import type { GatewayConfig } from './gateway.config.js';

/** Gives every module its checked section, by the section's class. Reads neither file nor environment. */
@Module({})
export class GatewayConfigModule {
  static forConfig(config: GatewayConfig): DynamicModule {
    const sections = sectionsOf(config).map(([token, name, value]) => ({
      token,
      source: registerAs(name, () => value),
    }));
    const load = sections.map((section) => section.source);
    return {
      module: GatewayConfigModule,
      global: true,
      imports: [ConfigModule.forRoot({ load, ignoreEnvFile: true, ignoreEnvVars: true, skipProcessEnv: true })],
      providers: sections.map(({ token, source }) => ({ provide: token, useExisting: source.KEY })),
      exports: sections.map(({ token }) => token),
    };
  }
}

const sectionsOf = (config: GatewayConfig): readonly (readonly [InjectionToken, string, object])[] => [
  [ServerConfig, 'server', config.server],
  [RoutingTable, 'routing', new RoutingTable(config)],
  [OperationsConfig, 'operations', config.operations],
  [AdmissionConfig, 'admission', config.admission],
  [BandNames, 'bands', new BandNames(config.admission.bands.map(({ name }) => name), config.admission.defaultBand)],
  [AuthConfig, 'auth', config.auth],
  [BudgetsConfig, 'budgets', config.budgets],
  [ProxiesConfig, 'proxies', new ProxiesConfig(config.proxies)],
  [TelemetryConfig, 'telemetry', config.telemetry],
];
