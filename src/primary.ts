import { register } from 'prom-client';
import { announce, endOnFaults, endOnSignals, type Listening } from './boot.js';
import { systemClock } from './common/clock.js';
import { RoutingTable } from './common/config/routing-table.js';
import type { ServerConfig } from './common/config/server.config.js';
import { addressOf, bootManagement, listenOptions } from './http-server.js';
import type { LoadedConfig } from './modules/config/load-config.js';
import { ClaimsOfWorkers } from './modules/admission/claims-of-workers.js';
import { EngineBroadcast } from './modules/engine-observer/engine-broadcast.js';
import { pollingRegistry } from './modules/engine-observer/registries.js';
import { DeskOfWorkers } from './modules/operator/desk-of-workers.js';
import { houseAbout, processName } from './modules/operator/house-about.js';
import { observedModels, showEngines } from './modules/telemetry/engine-metrics.js';
import { LogWriter } from './modules/telemetry/log-writer.js';
import { MetricsOfWorkers } from './modules/telemetry/metrics-of-workers.js';
import { forkWorker, setUpWorkers } from './modules/workers/cluster-fork.js';
import { machineOffsetMs } from './modules/workers/machine-time.js';
import { Supervisor, type SupervisorWorld, type WorkerProcess } from './modules/workers/supervisor.js';
import { DEFAULT_DRAIN_DELAY_MS } from './shutdown.js';
import { WorkersManagementModule } from './workers-management.module.js';

/** What a worker may take beyond its own limits, before it is killed. */
const GRACE_MS = 10_000;
const END_AT_ONCE_MS = 5_000;

/** What the workers are told and asked from when they are there until they have gone. */
interface Companion {
  join(worker: WorkerProcess): void;
  leave(worker: WorkerProcess): void;
}

/**
 * The process that serves nobody: it starts the workers, polls the engines for them, and answers for all of them on the
 * management port. The exit code, when the last of them has gone.
 */
export async function servePrimary(loaded: LoadedConfig, listening: Listening): Promise<number> {
  const { config } = loaded;
  const writer = new LogWriter(config.telemetry.logLevel, systemClock);
  const { log } = writer;
  const engines = pollingRegistry(new RoutingTable(config), log);
  const metrics = new MetricsOfWorkers(register, systemClock);
  showEngines(register, engines, observedModels(new RoutingTable(config)));
  const desk = new DeskOfWorkers(
    { about: houseAbout(processName(), config, new RoutingTable(config)), engines },
    systemClock,
  );
  const supervisor = new Supervisor({
    ...worldOf(loaded, [metrics, desk, broadcastOf(loaded, engines), claimsOf(loaded)]),
    log,
  });
  const management = await bootManagement(WorkersManagementModule.over(metrics, desk));
  try {
    await management.listen(listenOptions(config.server.management));
    await engines.start();
    endOnSignals((reason) => supervisor.end(reason));
    endOnFaults(log, (kind) => supervisor.end(kind, 1));
    const at = { listen: await supervisor.start(), management: addressOf(management) };
    announce(log, loaded, at);
    listening(at);
    const code = await supervisor.ended;
    log.info({ code }, 'ended');
    return code;
  } finally {
    await Promise.all([management.close(), engines.stop()]);
    writer.end();
  }
}

function broadcastOf({ config }: LoadedConfig, engines: ReturnType<typeof pollingRegistry>): Companion {
  const names = config.upstreams.map(({ name }) => name);
  const broadcast = new EngineBroadcast(engines, names, machineOffsetMs);
  return { join: ({ line }) => broadcast.join(line), leave: ({ line }) => broadcast.leave(line) };
}

function claimsOf({ config }: LoadedConfig): Companion {
  const claims = new ClaimsOfWorkers(config.upstreams.map(({ name }) => name));
  return { join: ({ line, pid }) => claims.join(line, `worker ${pid}`), leave: ({ line }) => claims.leave(line) };
}

function worldOf({ config, source }: LoadedConfig, companions: readonly Companion[]): Omit<SupervisorWorld, 'log'> {
  const { workers } = config.server;
  setUpWorkers();
  return {
    workers,
    clock: systemClock,
    fork: (index, gone) => forkWorker({ index, workers, ...source }, gone),
    joined: (worker) => companions.forEach((one) => one.join(worker)),
    left: (worker) => companions.forEach((one) => one.leave(worker)),
    endMs: drainMs(config.server) + GRACE_MS,
    endAtOnceMs: END_AT_ONCE_MS,
  };
}

const drainMs = ({ drainDelayMs, drainTimeoutMs }: ServerConfig): number =>
  Math.max(drainDelayMs ?? DEFAULT_DRAIN_DELAY_MS, drainTimeoutMs);
