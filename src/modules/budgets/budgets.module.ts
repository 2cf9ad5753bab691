import { Module } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { OperatorLog } from '../../common/operator-log.js';
import { SharedStoreModule } from '../shared-store/shared-store.module.js';
import { SharedStores } from '../shared-store/shared-stores.js';
import { Budgets } from './budgets.js';
import { BudgetsConfig } from './budgets.config.js';
import { SharedBudgets, watchStore } from './shared-budgets.js';

/** How much each tenant may still spend. */
@Module({
  imports: [SharedStoreModule],
  providers: [{ provide: Budgets, inject: [BudgetsConfig, ServerConfig, SharedStores, OperatorLog], useFactory: open }],
  exports: [Budgets],
})
export class BudgetsModule {}

async function open(
  config: BudgetsConfig,
  { replicas, workers }: ServerConfig,
  stores: SharedStores,
  log: OperatorLog,
): Promise<Budgets> {
  if (config.store === 'memory') return new Budgets(config, replicas * workers, systemClock);
  const store = await stores.at(config.store);
  watchStore(store, log);
  return new Budgets(config, replicas * workers, systemClock, new SharedBudgets(store, config.windowMs));
}
