import { parseArgs } from 'node:util';
import { ConfigFaults, loadConfig, type Environment } from '../modules/config/load-config.js';
import { dryRun } from './explain/dry-run.js';
import { explain } from './explain/explanation.js';
import { readRequestText } from './explain/request-text.js';

type Print = (line: string) => void;

export const USAGE =
  'usage: gateway explain --config FILE < request\n' +
  'The request is METHOD /path on the first line, headers if any, and the body: raw HTTP, or as short as\n' +
  '  POST /v1/chat/completions\n' +
  '  {"model": "reasoning", "messages": []}';

/** Says where a request would go and which limits it would meet; 0 also where it would be refused. Reaches no upstream. */
export async function explainCommand(
  argv: readonly string[],
  env: Environment,
  print: { readonly out: Print; readonly err: Print },
  input: () => Promise<Buffer>,
): Promise<number> {
  try {
    const { values } = parseArgs({ args: [...argv], options: { config: { type: 'string' } } });
    const file = values.config ?? env['GATEWAY_CONFIG'];
    if (file === undefined || file === '')
      throw new Error('no configuration: give --config FILE, or set GATEWAY_CONFIG');
    const { config } = loadConfig(file, env);
    const request = readRequestText(await input());
    explain(config, request, await dryRun(config, request.bytes)).forEach(print.out);
    return 0;
  } catch (error) {
    if (error instanceof ConfigFaults) error.faults.forEach((fault) => print.err(String(fault)));
    else [`gateway explain: ${(error as Error).message}`, USAGE].forEach(print.err);
    return 1;
  }
}
