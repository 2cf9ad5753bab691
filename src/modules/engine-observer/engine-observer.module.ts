import { Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { RoutingTable } from '../../common/config/routing-table.js';
import { OperatorLog } from '../../common/operator-log.js';
import { WorkerLink } from '../workers/worker-link.js';
import { EngineRegistry } from './engine-registry.js';
import { pollingRegistry, toldRegistry } from './registries.js';

/** What each engine can do now: the EngineRegistry, polling from the start of the gateway to its end. */
@Module({
  providers: [{ provide: EngineRegistry, inject: [RoutingTable, OperatorLog, WorkerLink], useFactory: registryFrom }],
  exports: [EngineRegistry],
})
export class EngineObserverModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(private readonly registry: EngineRegistry) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.registry.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.registry.stop();
  }
}

function registryFrom(table: RoutingTable, log: OperatorLog, { tie }: WorkerLink): EngineRegistry {
  return tie === undefined ? pollingRegistry(table, log) : toldRegistry(table, tie.line);
}
