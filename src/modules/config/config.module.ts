import { Module, type DynamicModule } from '@nestjs/common';
import { ConfigModule, registerAs } from '@nestjs/config';
import type { GatewayConfig } from './gateway.config.js';
import { injectedSections } from './injected-sections.js';

/** Gives every module its checked section, by the section's class. Reads neither file nor environment. */
@Module({})
export class GatewayConfigModule {
  static forConfig(config: GatewayConfig): DynamicModule {
    const sections = injectedSections(config).map(({ type, name, value }) => ({
      type,
      source: registerAs(name, () => value),
    }));
    const load = sections.map(({ source }) => source);
    return {
      module: GatewayConfigModule,
      global: true,
      imports: [ConfigModule.forRoot({ load, ignoreEnvFile: true, skipProcessEnv: true })],
      providers: sections.map(({ type, source }) => ({ provide: type, useExisting: source.KEY })),
      exports: sections.map(({ type }) => type),
    };
  }
}
