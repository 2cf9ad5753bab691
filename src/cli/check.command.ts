import { parseArgs } from 'node:util';
import { inLargestUnit } from '../common/config/quantities.js';
import { RoutingTable, type Model } from '../common/config/routing-table.js';
import { ConfigFaults, loadConfig, type Environment } from '../modules/config/load-config.js';
import type { GatewayConfig } from '../modules/config/gateway.config.js';
import { limitsLine } from './limits-line.js';

type Print = (line: string) => void;

export const USAGE =
  'usage: gateway check --config FILE (or GATEWAY_CONFIG=FILE)\n' +
  'Prints every fault of a configuration with its line, or the routing table that it makes.';

/** Prints the effective routing table and returns 0, or every fault of the configuration and returns 1. */
export function checkCommand(argv: readonly string[], env: Environment, out: Print, err: Print): number {
  const file = configFileFrom(argv, env, err);
  if (file === undefined) return 1;
  try {
    const { config, warnings } = loadConfig(file, env);
    for (const line of routingLines(config)) out(line);
    for (const warning of warnings) out(`warning: ${warning}`);
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    for (const fault of error.faults) err(fault.toString());
    return 1;
  }
}

/** undefined: no file was named, or not so that it is understood, and `err` has been told. */
function configFileFrom(argv: readonly string[], env: Environment, err: Print): string | undefined {
  try {
    const { values } = parseArgs({ args: [...argv], options: { config: { type: 'string' } } });
    const file = values.config ?? env['GATEWAY_CONFIG'];
    if (file !== undefined && file !== '') return file;
    err('no configuration: give --config FILE, or set GATEWAY_CONFIG');
  } catch (error) {
    err(`${(error as Error).message} (gateway check --config FILE)`);
  }
  return undefined;
}

/** The configuration as the gateway would act on it, with every reference followed. */
function routingLines(config: GatewayConfig): readonly string[] {
  const table = new RoutingTable(config);
  return [
    `public ${config.server.listen}, management ${config.server.management}`,
    'models:',
    ...table.models.flatMap((model) => modelLines(table, model)),
    'aliases:',
    ...table.aliases.map((alias) => `  ${alias.path} -> ${alias.operation} of ${alias.model}`),
    'prefixes:',
    ...config.proxies.flatMap((proxy) => [
      `  ${proxy.prefix} ${proxy.methods.join(',')}${proxy.websocket ? ' websocket' : ''}: ` +
        `upstream ${proxy.upstream} ${table.upstream(proxy.upstream).url}${proxy.stripPrefix ? ' without the prefix' : ''}`,
      `    ${limitsLine(proxy)}`,
    ]),
    'bands:',
    ...config.admission.bands.map(
      (band) => `  ${band.name}: ceiling ${band.ceiling}, capacity ${band.capacity}, ttl ${inLargestUnit(band.ttlMs)}`,
    ),
  ];
}

function modelLines(table: RoutingTable, { id, operations, upstream, contextLength }: Model): readonly string[] {
  const { name, engine, url, discover, slots } = upstream;
  return [
    `  ${id}: upstream ${name} (${engine}, ${discover}) ${url}, context ${contextLength} tokens, ` +
      `slots ${slots.limit} (${slots.perEndpoint} per endpoint)`,
    ...[...operations].map((operation) => {
      const settings = table.operation(operation);
      return `    ${operation}: ${settings.path}, ${limitsLine(settings)}`;
    }),
  ];
}
