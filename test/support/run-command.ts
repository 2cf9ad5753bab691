import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface CommandEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command of the built gateway to its end, as its users do. */
export async function runCommand(argv: readonly string[], input = ''): Promise<CommandEnd> {
  const child = spawn(process.execPath, [MAIN, ...argv], { env: { PATH: process.env['PATH'] ?? '' } });
  const outputs = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  child.stdin.on('error', () => undefined).end(input);
  const [stdout, stderr] = await outputs;
  return { code: child.exitCode, stdout, stderr };
}
