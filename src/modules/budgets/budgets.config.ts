import { storeOr } from '../../common/config/addresses.js';
import { Scalar } from '../../common/config/field.js';
import { Nested, NestedList } from '../../common/config/nested.js';
import { DurationMs, Whole } from '../../common/config/quantities.js';
import { Text } from '../../common/config/texts.js';

/** What one tenant may spend in a window. */
export class BudgetConfig {
  @Whole(1)
  readonly requests!: number;

  @Whole(1)
  readonly tokens!: number;
}

/** The budget of a tenant that has its own. */
export class TenantBudgetConfig {
  /** As the tenant claim writes it. */
  @Text()
  readonly name!: string;

  @Whole(1)
  readonly requests!: number;

  @Whole(1)
  readonly tokens!: number;
}

/** Who may spend how much. */
export class BudgetsConfig {
  /** memory or a redis:// URL. */
  @Scalar(storeOr('memory'))
  readonly store!: string;

  @DurationMs()
  readonly windowMs!: number;

  /** Of each identified tenant. */
  @Nested(() => BudgetConfig)
  readonly default!: BudgetConfig;

  @NestedList(() => TenantBudgetConfig)
  readonly tenants!: readonly TenantBudgetConfig[];
}
