import { AliasConfig } from '../../common/config/aliases.config.js';
import { ListOf, Optional } from '../../common/config/field.js';
import { ModelConfig } from '../../common/config/models.config.js';
import { Nested, NestedList } from '../../common/config/nested.js';
import { OperationsConfig } from '../../common/config/operations.config.js';
import type { ScalarRule } from '../../common/config/rule.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { UpstreamConfig } from '../../common/config/upstreams.config.js';
import { AdmissionConfig } from '../admission/admission.config.js';
import { AuthConfig } from '../auth/auth.config.js';
import { BudgetsConfig } from '../budgets/budgets.config.js';
import { ProxyConfig } from '../proxy/proxies.config.js';
import { TelemetryConfig } from '../telemetry/telemetry.config.js';

/** An entry for a plugin that is not there must not be ignored, and none is there yet. */
const installedPlugin: ScalarRule = {
  kind: 'scalar',
  allowed: 'the entry of an installed plugin: no plugin is installed',
  schema: { not: {} },
  accepts: () => false,
};

/** The whole configuration, its sections in the order in which an operator reads them. */
export class GatewayConfig {
  @Nested(() => ServerConfig)
  readonly server!: ServerConfig;

  @NestedList(() => UpstreamConfig)
  readonly upstreams!: readonly UpstreamConfig[];

  @NestedList(() => ModelConfig)
  readonly models!: readonly ModelConfig[];

  @Nested(() => OperationsConfig)
  readonly operations!: OperationsConfig;

  @NestedList(() => AliasConfig)
  readonly aliases!: readonly AliasConfig[];

  @NestedList(() => ProxyConfig)
  readonly proxies!: readonly ProxyConfig[];

  @Nested(() => AdmissionConfig)
  readonly admission!: AdmissionConfig;

  @Nested(() => AuthConfig)
  readonly auth!: AuthConfig;

  @Nested(() => BudgetsConfig)
  readonly budgets!: BudgetsConfig;

  @Nested(() => TelemetryConfig)
  readonly telemetry!: TelemetryConfig;

  @Optional()
  @ListOf(installedPlugin)
  readonly plugins?: readonly never[];
}
