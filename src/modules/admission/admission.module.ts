import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { EngineObserverModule } from '../engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../engine-observer/engine-registry.js';
import { SharedStoreModule } from '../shared-store/shared-store.module.js';
import { SharedStores } from '../shared-store/shared-stores.js';
import { OperatorLog } from '../../common/operator-log.js';
import { WorkerLink } from '../workers/worker-link.js';
import { AdmissionConfig } from './admission.config.js';
import { AdmissionSharing } from './admission-sharing.js';
import { AmongWorkers } from './among-workers.js';
import { replicaIndex } from './replica-index.js';
import { watchShortUpstreams } from './short-upstreams.js';
import { SlotController, type PoolSharings } from './slot-controller.js';

const SHARED_POOLS = Symbol('how pools share with those of others');

/** With whom: other gateways, or first of all the other workers of this one. */
interface SharedPools {
  readonly sharing: PoolSharings;
  readonly among: AmongWorkers | undefined;
}

/** Decides who runs next. Every dialect gets the same SlotController. */
@Module({
  imports: [EngineObserverModule, SharedStoreModule],
  providers: [
    {
      provide: SHARED_POOLS,
      inject: [WorkerLink, ServerConfig, AdmissionConfig, AdmissionSharing],
      useFactory: sharedPools,
    },
    {
      provide: AdmissionSharing,
      inject: [AdmissionConfig, ServerConfig, SharedStores, WorkerLink],
      useFactory: admissionSharing,
    },
    {
      provide: SlotController,
      inject: [AdmissionConfig, RoutingTable, EngineRegistry, OperatorLog, SHARED_POOLS],
      useFactory: slotController,
    },
  ],
  exports: [SlotController, AdmissionSharing],
})
export class AdmissionModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    private readonly sharing: AdmissionSharing,
    private readonly slots: SlotController,
    private readonly log: OperatorLog,
  ) {}

  onApplicationBootstrap(): void {
    this.sharing.start(this.slots, this.log);
  }

  async onModuleDestroy(): Promise<void> {
    await this.sharing.stop();
  }
}

async function admissionSharing(
  policy: AdmissionConfig,
  { replicas, management }: ServerConfig,
  stores: SharedStores,
  { tie }: WorkerLink,
): Promise<AdmissionSharing> {
  const store = policy.store.startsWith('redis') ? await stores.at(policy.store) : undefined;
  // Where several workers share through a store, each of them is a gateway of its own.
  const site =
    tie === undefined
      ? { replicas, management, hostName: hostname() }
      : { replicas: replicas * tie.workers, management, hostName: `${hostname()} worker ${tie.index}` };
  return new AdmissionSharing(policy, site, systemClock, store);
}

function slotController(
  policy: AdmissionConfig,
  table: RoutingTable,
  engines: EngineRegistry,
  log: OperatorLog,
  { sharing, among }: SharedPools,
): SlotController {
  watchShortUpstreams(table.upstreams, engines, log);
  const slots = new SlotController(policy, table.upstreams, engines, systemClock, { sharing });
  among?.connect(slots);
  return slots;
}

function sharedPools(
  { tie }: WorkerLink,
  { replicas, management }: ServerConfig,
  { store }: AdmissionConfig,
  others: AdmissionSharing,
): SharedPools {
  // What a store counts for all gateways, it counts for all workers.
  if (tie === undefined || store.startsWith('redis')) return { sharing: others, among: undefined };
  const replica = { index: replicaIndex(hostname(), management, replicas), replicas };
  const among = new AmongWorkers(tie, replica, randomUUID(), systemClock);
  return { sharing: among, among };
}
