import { parseArgs } from 'node:util';
import { Gateway } from '../http-server.js';
import { ConfigFaults, loadConfig } from '../modules/config/load-config.js';
import type { GatewayConfig } from '../modules/config/gateway.config.js';
import { stackOf } from '../modules/telemetry/telemetry.js';
import { Shutdown } from '../shutdown.js';

type Line = (line: string) => void;

/** `gateway serve`: runs until it is told to end. 0: after a clean drain; 1: it could not start, or had to give up. */
export async function serveCommand(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  _out: Line,
  err: Line,
): Promise<number> {
  const { values } = parseArgs({ args: [...argv], options: { config: { type: 'string' } } });
  const file = values.config ?? env['GATEWAY_CONFIG'];
  if (file === undefined) {
    err('gateway serve: say which configuration: --config FILE, or GATEWAY_CONFIG=FILE');
    return 1;
  }
  try {
    const { config, warnings } = loadConfig(file, env);
    return await serve(config, warnings);
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    error.faults.forEach((fault) => err(String(fault)));
    return 1;
  }
}

/** Runs a gateway with a checked configuration until a signal or a fault ends it; the exit code. */
export async function serve(
  config: GatewayConfig,
  warnings: readonly string[],
  listening: (at: { listen: string; management: string }) => void = () => undefined,
): Promise<number> {
  if (config.auth.enabled) {
    throw new Error(
      'auth.enabled is true, but this version cannot verify tokens yet: it would have to refuse every request',
    );
  }
  const gateway = await Gateway.start(config);
  const { log } = gateway.telemetry;
  announce(gateway, config, warnings);
  listening(gateway.addresses());
  const shutdown = new Shutdown(gateway, config.server, log);
  process.on('SIGTERM', () => shutdown.begin('SIGTERM'));
  process.on('SIGINT', () => shutdown.begin('SIGINT'));
  const fatal = (kind: string) => (error: unknown) => {
    log.fatal({ stack: stackOf(error) }, kind);
    shutdown.begin(kind, 1);
  };
  process.on('uncaughtException', fatal('uncaught exception'));
  process.on('unhandledRejection', fatal('unhandled rejection'));
  const code = await shutdown.ended;
  log.info({ code }, 'ended');
  await gateway.telemetry.end();
  return code;
}

function announce(gateway: Gateway, config: GatewayConfig, warnings: readonly string[]): void {
  const { log } = gateway.telemetry;
  for (const warning of warnings) log.warn(warning);
  log.warn('auth is off: whoever reaches this gateway may use every engine');
  const limits = config.upstreams.map(({ name, engine, url, connections, slots, observe }) => ({
    upstream: name,
    engine,
    url,
    connections,
    slots: slots.limit,
    per_endpoint: slots.perEndpoint,
    max_inflight: observe?.maxInflight,
    kv_ceiling: observe?.kvCeiling,
  }));
  log.info({ ...gateway.addresses(), limits }, 'listening');
}
