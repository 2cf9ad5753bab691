import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { inPlainWords } from './system-errors.js';

interface Command {
  /** All that it takes, for people. */
  readonly usage: string;
  /** Takes its arguments to its exit code. */
  readonly run: (argv: readonly string[]) => number | Promise<number>;
}

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
const COMMANDS: Readonly<Record<string, { readonly help: string; readonly load: () => Promise<Command> }>> = {
  serve: {
    help: 'serve --config FILE            run the gateway (or GATEWAY_CONFIG=FILE)',
    load: async () => {
      const { USAGE, serveCommand } = await import('./serve.command.js');
      return { usage: USAGE, run: (argv) => serveCommand(argv, env, out, err) };
    },
  },
  check: {
    help: 'check --config FILE            print every fault of a configuration, or its routing table',
    load: async () => {
      const { USAGE, checkCommand } = await import('./check.command.js');
      return { usage: USAGE, run: (argv) => checkCommand(argv, env, out, err) };
    },
  },
  explain: {
    help: 'explain --config FILE < REQUEST   say where a request would go and which limits it would meet',
    load: async () => {
      const { USAGE, explainCommand } = await import('./explain.command.js');
      return { usage: USAGE, run: (argv) => explainCommand(argv, env, { out, err }, () => buffer(process.stdin)) };
    },
  },
  parity: {
    help: 'parity --left URL --right URL --cases FILE   send the same requests to two gateways, print what differs',
    load: async () => {
      const { USAGE, parityCommand } = await import('./parity.command.js');
      return { usage: USAGE, run: (argv) => parityCommand(argv, env, out, err) };
    },
  },
  schema: {
    help: 'schema [--write FILE]          print the JSON schema of the configuration',
    load: async () => {
      const { USAGE, schemaCommand } = await import('./schema.command.js');
      return { usage: USAGE, run: (argv) => schemaCommand(argv, env, out, err) };
    },
  },
  dashboard: {
    help: 'dashboard [--write FOLDER]     the Grafana dashboard; written, the alert rules too',
    load: async () => {
      const { USAGE, dashboardCommand } = await import('./dashboard.command.js');
      return { usage: USAGE, run: (argv) => dashboardCommand(argv, env, out, err) };
    },
  },
  simulate: {
    help: 'simulate --engine KIND --listen HOST:PORT --models a,b   run a simulated engine',
    load: async () => {
      const { USAGE, simulateCommand } = await import('./simulate.command.js');
      return { usage: USAGE, run: (argv) => simulateCommand(argv, env, out, err) };
    },
  },
  scenarios: {
    help: 'scenarios [--only S1,S3] [--quick] [--write FOLDER]   admission under simulated load, in virtual time',
    load: async () => {
      const { USAGE, scenariosCommand } = await import('./scenarios.command.js');
      return { usage: USAGE, run: (argv) => scenariosCommand(argv, env, out, err) };
    },
  },
  demo: {
    help: 'demo                           run simulated engines and a gateway in front of them',
    load: async () => {
      const { USAGE, demoCommand } = await import('./demo.command.js');
      return { usage: USAGE, run: (argv) => demoCommand(argv, env, out, err) };
    },
  },
};

/** Runs the command that the arguments name; the exit code. Never a bare stack trace. */
export async function runCli(argv: readonly string[]): Promise<number> {
  const [name = '', ...rest] = argv;
  if (asksForHelp(name) || name === 'help') return told(usage());
  if (name === '--version') return told([version()]);
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (entry === undefined) {
    err(
      name === ''
        ? 'gateway: a command is missing'
        : `gateway: there is no command ${JSON.stringify(name.slice(0, 40))}`,
    );
    usage().forEach(err);
    return 1;
  }
  try {
    const command = await entry.load();
    return rest.some(asksForHelp) ? told([command.usage]) : await command.run(rest);
  } catch (error) {
    err(`gateway ${name}: ${inPlainWords(error)}`);
    return 1;
  }
}

const asksForHelp = (argument: string): boolean => argument === '--help' || argument === '-h';

function told(lines: readonly string[]): number {
  lines.forEach(out);
  return 0;
}

function version(): string {
  const description: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return (description as { readonly version: string }).version;
}

const usage = (): string[] => [
  'usage: gateway COMMAND',
  ...Object.values(COMMANDS).map(({ help }) => `  ${help}`),
  'gateway COMMAND --help says what a command takes, gateway --version which release this is.',
];
