import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadConfig } from '../modules/config/load-config.js';
import { LOCAL_PORTS, startLocalEngines } from '../sim/local-engines.js';
import { serve } from './serve.command.js';
import { inPlainWords } from './system-errors.js';

type Line = (line: string) => void;

export const USAGE =
  'usage: gateway demo\n' +
  'Runs simulated engines and a gateway in front of them, by config/local.yaml or GATEWAY_CONFIG=FILE.';

const ENGINES = `the simulated engines need the ports ${Object.values(LOCAL_PORTS).join(', ')} of 127.0.0.1`;
const CONFIG = fileURLToPath(new URL('../../config/local.yaml', import.meta.url));

/** `gateway demo`, what `npm start` runs: simulated engines, and the gateway of config/local.yaml in front of them. */
export async function demoCommand(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  out: Line,
  err: Line,
): Promise<number> {
  try {
    parseArgs({ args: [...argv], options: {} });
  } catch (error) {
    [`gateway demo: ${(error as Error).message}`, USAGE].forEach(err);
    return 1;
  }
  const loaded = loadConfig(env['GATEWAY_CONFIG'] ?? CONFIG, { LOG_LEVEL: 'warn', ...env });
  const engines = await startLocalEngines().catch((cause: unknown) => {
    throw new Error(`${ENGINES}: ${inPlainWords(cause)}`, { cause });
  });
  try {
    return await serve(loaded, ({ listen, management }) => whatToTry(listen, management).forEach(out));
  } finally {
    await engines.close();
  }
}

function whatToTry(listen: string, management: string): string[] {
  const base = `http://${listen}`;
  const post = (path: string, body: object): string =>
    `  curl -N ${base}${path} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
  const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
  return [
    '',
    `The gateway is at ${base}/v1, simulated engines behind it. Its metrics are at http://${management}/metrics.`,
    `See what it is doing at http://${management}/, and try:`,
    '',
    post('/v1/chat/completions', { model: 'reasoning', stream: true, messages }),
    post('/v1/embeddings', { model: 'nomic-ai/nomic-embed-text-v2-moe', input: ['salt', 'foam'] }),
    `  curl ${base}/v1/models`,
    '',
    'Ctrl-C ends all of it.',
    '',
  ];
}
