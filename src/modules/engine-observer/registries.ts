import { systemClock } from '../../common/clock.js';
import type { RoutingTable } from '../../common/config/routing-table.js';
import type { OperatorLog } from '../../common/operator-log.js';
import type { Line } from '../workers/line.js';
import { machineOffsetMs } from '../workers/machine-time.js';
import { ENGINES, WATCH_ENGINES } from './engine-news.js';
import { EngineRegistry } from './engine-registry.js';
import { ToldEngines } from './told-engines.js';
import type { ObservedUpstream } from './upstream-engines.js';

/** Polls the engines itself. */
export const pollingRegistry = (table: RoutingTable, log: OperatorLog): EngineRegistry =>
  new EngineRegistry(observed(table), systemClock, { log: (level, fields, text) => log[level](fields, text) });

/** Is told of them by the process that polls them. */
export function toldRegistry(table: RoutingTable, line: Line): EngineRegistry {
  const told = new Map<string, ToldEngines>();
  line.on(ENGINES, (news) => told.get(news.upstream)?.take(news));
  const registry = new EngineRegistry(observed(table), systemClock, {}, (upstream, listener) => {
    const engines = new ToldEngines(upstream, { clock: systemClock, machineOffsetMs }, listener);
    told.set(upstream.name, engines);
    return engines;
  });
  line.post(WATCH_ENGINES, null);
  return registry;
}

const observed = (table: RoutingTable): ObservedUpstream[] =>
  table.upstreams.map((upstream) => {
    const models = table.models.filter((model) => model.upstream.name === upstream.name);
    return Object.assign({ servedNames: models.map(({ id }) => id) }, upstream);
  });
