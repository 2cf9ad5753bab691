import { BandNames } from '../../common/band-names.js';
import { AccessTable } from '../../common/config/access-table.js';
import { OperationsConfig } from '../../common/config/operations.config.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { AdmissionConfig } from '../admission/admission.config.js';
import { AuthConfig } from '../auth/auth.config.js';
import { BudgetsConfig } from '../budgets/budgets.config.js';
import { ProxiesConfig } from '../proxy/proxies.config.js';
import { TelemetryConfig } from '../telemetry/telemetry.config.js';
import type { GatewayConfig } from './gateway.config.js';

/** What is injected by which class, and its name among the loaded configurations. */
export interface InjectedSection {
  readonly type: abstract new (...given: never[]) => object;
  readonly name: string;
  readonly value: object;
}

/** Everything that modules are given of the configuration. */
export const injectedSections = (config: GatewayConfig): readonly InjectedSection[] => [
  { type: ServerConfig, name: 'server', value: config.server },
  { type: RoutingTable, name: 'routing', value: new RoutingTable(config) },
  { type: AccessTable, name: 'access', value: new AccessTable(config) },
  { type: OperationsConfig, name: 'operations', value: config.operations },
  { type: AdmissionConfig, name: 'admission', value: config.admission },
  { type: BandNames, name: 'bands', value: bandNamesOf(config) },
  { type: AuthConfig, name: 'auth', value: config.auth },
  { type: BudgetsConfig, name: 'budgets', value: config.budgets },
  { type: ProxiesConfig, name: 'proxies', value: new ProxiesConfig(config.proxies) },
  { type: TelemetryConfig, name: 'telemetry', value: config.telemetry },
];

function bandNamesOf({ admission }: GatewayConfig): BandNames {
  const names = admission.bands.map((band) => band.name);
  return new BandNames(names, admission.defaultBand);
}
