import { buffer } from 'node:stream/consumers';

/** Takes a command's arguments to its exit code. */
type Command = (argv: readonly string[]) => Promise<number>;

const env = process.env;
const out = (line: string): void => void process.stdout.write(`${line}\n`);
const err = (line: string): void => void process.stderr.write(`${line}\n`);

/** A reader that has seen enough (`| head`) is no fault of ours: what was left to say is dropped. */
function leaveQuietly(error: Error): void {
  if (!('code' in error) || error.code !== 'EPIPE') throw error;
}
process.stdout.on('error', leaveQuietly);
process.stderr.on('error', leaveQuietly);

/** Each command is loaded only when it is asked for: `serve` is not to carry the simulator in its memory. */
const COMMANDS: Readonly<Record<string, { readonly help: string; readonly run: Command }>> = {
  serve: {
    help: 'serve --config FILE            run the gateway (or GATEWAY_CONFIG=FILE)',
    run: async (argv) => (await import('./serve.command.js')).serveCommand(argv, env, out, err),
  },
  check: {
    help: 'check --config FILE            print every fault of a configuration, or its routing table',
    run: async (argv) => (await import('./check.command.js')).checkCommand(argv, env, out, err),
  },
  explain: {
    help: 'explain --config FILE < REQUEST   say where a request would go and which limits it would meet',
    run: async (argv) =>
      (await import('./explain.command.js')).explainCommand(argv, env, { out, err }, () => buffer(process.stdin)),
  },
  parity: {
    help: 'parity --left URL --right URL --cases FILE   send the same requests to two gateways, print what differs',
    run: async (argv) => (await import('./parity.command.js')).parityCommand(argv, env, out, err),
  },
  schema: {
    help: 'schema [--write FILE]          print the JSON schema of the configuration',
    run: async (argv) => (await import('./schema.command.js')).schemaCommand(argv, env, out, err),
  },
  dashboard: {
    help: 'dashboard [--write FOLDER]     the Grafana dashboard; written, the alert rules too',
    run: async (argv) => (await import('./dashboard.command.js')).dashboardCommand(argv, env, out, err),
  },
  simulate: {
    help: 'simulate --engine KIND --listen HOST:PORT --models a,b   run a simulated engine',
    run: async (argv) => (await import('./simulate.command.js')).simulateCommand(argv, env, out, err),
  },
  scenarios: {
    help: 'scenarios [--only S1,S3] [--quick] [--write FOLDER]   admission under simulated load, in virtual time',
    run: async (argv) => (await import('./scenarios.command.js')).scenariosCommand(argv, env, out, err),
  },
  demo: {
    help: 'demo                           run simulated engines and a gateway in front of them',
    run: async () => (await import('./demo.command.js')).demoCommand(env, out),
  },
};

/** Runs the command that the arguments name; the exit code. Never a bare stack trace. */
export async function runCli(argv: readonly string[]): Promise<number> {
  const [name = '', ...rest] = argv;
  if (name === '--help' || name === '-h' || name === 'help') {
    usage().forEach(out);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command === undefined) {
    err(
      name === ''
        ? 'gateway: a command is missing'
        : `gateway: there is no command ${JSON.stringify(name.slice(0, 40))}`,
    );
    usage().forEach(err);
    return 1;
  }
  try {
    return await command.run(rest);
  } catch (error) {
    err(`gateway ${name}: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

const usage = (): string[] => ['usage: gateway COMMAND', ...Object.values(COMMANDS).map(({ help }) => `  ${help}`)];
