import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Module } from '@nestjs/common';
import { systemClock } from '../../common/clock.js';
import { RoutingTable } from '../../common/config/routing-table.js';
import { ServerConfig } from '../../common/config/server.config.js';
import { EngineObserverModule } from '../engine-observer/engine-observer.module.js';
import { EngineRegistry } from '../engine-observer/engine-registry.js';
import { OperatorLog } from '../../common/operator-log.js';
import { WorkerLink } from '../workers/worker-link.js';
import { AdmissionConfig } from './admission.config.js';
import { AmongWorkers } from './among-workers.js';
import { replicaIndex } from './replica-index.js';
import { watchShortUpstreams } from './short-upstreams.js';
import { SlotController } from './slot-controller.js';

const AMONG_WORKERS = Symbol('the pools among those of other workers');
/** How often the share of an upstream without gauges could turn: it does not. */
const NOT_READ_MS = 1000;

/** Decides who runs next. Every dialect gets the same SlotController. */
@Module({
  imports: [EngineObserverModule],
  providers: [
    { provide: AMONG_WORKERS, inject: [WorkerLink, ServerConfig], useFactory: amongWorkers },
    {
      provide: SlotController,
      inject: [AdmissionConfig, RoutingTable, EngineRegistry, OperatorLog, AMONG_WORKERS],
      useFactory: slotController,
    },
  ],
  exports: [SlotController],
})
export class AdmissionModule {}

function slotController(
  policy: AdmissionConfig,
  table: RoutingTable,
  engines: EngineRegistry,
  log: OperatorLog,
  among: AmongWorkers | undefined,
): SlotController {
  watchShortUpstreams(table.upstreams, engines, log);
  const readEveryMs = new Map(table.upstreams.map(({ name, observe }) => [name, observe?.intervalMs ?? NOT_READ_MS]));
  const sharing = among && ((name: string) => among.sharingOf(name, readEveryMs.get(name) ?? NOT_READ_MS));
  const slots = new SlotController(policy, table.upstreams, engines, systemClock, { sharing });
  among?.connect(slots);
  return slots;
}

/** undefined: this process is the only one. */
function amongWorkers({ tie }: WorkerLink, { replicas, management }: ServerConfig): AmongWorkers | undefined {
  if (tie === undefined) return undefined;
  return new AmongWorkers(
    tie,
    { index: replicaIndex(hostname(), management, replicas), replicas },
    randomUUID(),
    systemClock,
  );
}
