import { parseArgs } from 'node:util';
import { announce, compactHeap, endOnFaults, endOnSignals, type Listening } from '../boot.js';
import { Gateway } from '../http-server.js';
import { ConfigFaults, loadConfig, type LoadedConfig } from '../modules/config/load-config.js';
import { Shutdown } from '../shutdown.js';

type Line = (line: string) => void;

export const USAGE =
  'usage: gateway serve --config FILE (or GATEWAY_CONFIG=FILE)\n' +
  'Runs the gateway until SIGTERM or SIGINT; requests that run are served to their end.';

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
    return await serve(loadConfig(file, env));
  } catch (error) {
    if (!(error instanceof ConfigFaults)) throw error;
    error.faults.forEach((fault) => err(String(fault)));
    return 1;
  }
}

/** Runs a gateway with a checked configuration until a signal or a fault ends it; the exit code. */
export async function serve(loaded: LoadedConfig, listening: Listening = () => undefined): Promise<number> {
  const { config } = loaded;
  // What several processes need is loaded only where there are several.
  if (config.server.workers > 1) return (await import('../primary.js')).servePrimary(loaded, listening);
  const gateway = await Gateway.start(config, { ready: compactHeap });
  const { log } = gateway.telemetry;
  announce(log, loaded, gateway.addresses());
  listening(gateway.addresses());
  const shutdown = new Shutdown(gateway, config.server, log);
  endOnSignals((reason) => shutdown.begin(reason));
  endOnFaults(log, (kind) => shutdown.begin(kind, 1));
  const code = await shutdown.ended;
  log.info({ code }, 'ended');
  await gateway.telemetry.end();
  return code;
}
