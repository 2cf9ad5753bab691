import { Test } from '@nestjs/testing';
import { BandNames } from '../../common/band-names.js';
import { OperationsConfig } from '../../common/config/operations.config.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { AdmissionConfig } from '../admission/admission.config.js';
import { AuthConfig } from '../auth/auth.config.js';
import { BudgetsConfig } from '../budgets/budgets.config.js';
import { ProxiesConfig } from '../proxy/proxies.config.js';
import { TelemetryConfig } from '../telemetry/telemetry.config.js';
import { GatewayConfigModule } from './config.module.js';
import { loadConfig } from './load-config.js';

it('injects every section by its class, the very instance that was loaded', async () => {
  const { config } = loadConfig('config/gateway.yaml', {});
  const before = { ...process.env };
  const app = await Test.createTestingModule({ imports: [GatewayConfigModule.forConfig(config)] }).compile();
  expect(app.get(ServerConfig)).toBe(config.server);
  expect(app.get(OperationsConfig)).toBe(config.operations);
  expect(app.get(AdmissionConfig)).toBe(config.admission);
  expect(app.get(AuthConfig)).toBe(config.auth);
  expect(app.get(BudgetsConfig)).toBe(config.budgets);
  expect(app.get(TelemetryConfig)).toBe(config.telemetry);
  expect(app.get(ProxiesConfig).all).toBe(config.proxies);
  expect(app.get(BandNames)).toEqual({ all: ['platinum', 'gold', 'bronze'], defaultBand: 'gold' });
  expect(app.get(RoutingTable).model('reasoning')?.upstream).toBe(config.upstreams[0]);
  expect({ ...process.env }).toEqual(before);
  await app.close();
});

it('reaches modules that do not import it', async () => {
  class Reader {
    constructor(readonly admission: AdmissionConfig) {}
  }
  class ReaderModule {
    readonly name = 'reader';
  }
  const { config } = loadConfig('config/gateway.yaml', {});
  const reader = { provide: Reader, inject: [AdmissionConfig], useFactory: (own: AdmissionConfig) => new Reader(own) };
  const imports = [GatewayConfigModule.forConfig(config), { module: ReaderModule, providers: [reader] }];
  const app = await Test.createTestingModule({ imports }).compile();
  expect(app.get(Reader, { strict: false }).admission).toBe(config.admission);
  await app.close();
});
