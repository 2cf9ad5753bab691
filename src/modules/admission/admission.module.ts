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
import { SlotController } from './slot-controller.js';

const AMONG_WORKERS = Symbol('the pools among those of other workers');

/** Decides who runs next. Every dialect gets the same SlotController. */
@Module({
  imports: [EngineObserverModule, SharedStoreModule],
  providers: [
    { provide: AMONG_WORKERS, inject: [WorkerLink, ServerConfig, AdmissionConfig], useFactory: amongWorkers },
    {
      provide: AdmissionSharing,
      inject: [AdmissionConfig, ServerConfig, SharedStores, WorkerLink],
      useFactory: admissionSharing,
    },
    {
      provide: SlotController,
      inject: [AdmissionConfig, RoutingTable, EngineRegistry, OperatorLog, AdmissionSharing, AMONG_WORKERS],
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
  return new AdmissionSharing(
    policy,
    { replicas: replicas * (tie?.workers ?? 1), management: `${management} ${tie?.index ?? 0}`, hostName: hostname() },
    systemClock,
    store,
  );
}

function slotController(
  policy: AdmissionConfig,
  table: RoutingTable,
  engines: EngineRegistry,
  log: OperatorLog,
  sharing: AdmissionSharing,
  among: AmongWorkers | undefined,
): SlotController {
  watchShortUpstreams(table.upstreams, engines, log);
  const slots = new SlotController(policy, table.upstreams, engines, systemClock, { sharing: among ?? sharing });
  among?.connect(slots);
  return slots;
}

/** undefined: this process is the only one, or its places are counted in a store that all gateways and workers share. */
function amongWorkers(
  { tie }: WorkerLink,
  { replicas, management }: ServerConfig,
  { store }: AdmissionConfig,
): AmongWorkers | undefined {
  if (tie === undefined || store.startsWith('redis')) return undefined;
  const replica = { index: replicaIndex(hostname(), management, replicas), replicas };
  return new AmongWorkers(tie, replica, randomUUID(), systemClock);
}
