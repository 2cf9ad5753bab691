import { Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { OperatorLog } from '../../common/operator-log.js';
import { EngineRegistry } from './engine-registry.js';

/** What each engine can do now: the EngineRegistry, polling from the start of the gateway to its end. */
@Module({
  providers: [{ provide: EngineRegistry, inject: [RoutingTable, OperatorLog], useFactory: registryFrom }],
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

function registryFrom(table: RoutingTable, log: OperatorLog): EngineRegistry {
  const upstreams = table.upstreams.map((upstream) => {
    const models = table.models.filter((model) => model.upstream.name === upstream.name);
    return Object.assign({ servedNames: models.map(({ id }) => id) }, upstream);
  });
  return new EngineRegistry(upstreams, systemClock, { log: (level, fields, text) => log[level](fields, text) });
}
