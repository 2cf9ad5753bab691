import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { childrenOf } from '../support/child-processes.js';
import { parseJson } from '../support/json.js';
import { eventually } from '../support/socket-world.js';

// It starts a gateway, an engine, a load generator and a relay, on a machine that may have others to run.
import.meta.jest.setTimeout(30_000);

const BENCH = fileURLToPath(new URL('bench.mjs', import.meta.url));
const BESIDE_BARE = ['--only', 'bare,gateway', '--starts', '1', '--scale', '0.01'];
const COMPARED = ['unary', 'messages', 'rejected'];

function startBench(args: readonly string[]) {
  const child = spawn(process.execPath, [BENCH, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const outputs = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const end = outputs.then(([stdout, stderr]) => ({ code: child.exitCode, stdout, stderr }));
  return { child, end };
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

it('measures the gateway beside the bare relay, in each kind of mode that compares', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-test-'));
  try {
    const out = join(folder, 'figures.json');
    const args = [...BESIDE_BARE, '--mode', COMPARED.join(','), '--rounds', '1', '--out', out];
    const { code, stdout, stderr } = await startBench(args).end;
    expect([code, stderr]).toEqual([0, expect.stringContaining('rejected, round 1 of 1: µs bare')]);
    expect(stdout).toMatch(/\| CPU per request, 1 KB, 32 connections \| 1 \(\d+(\.\d+)? µs\) \| \d/);
    const { modes } = parseJson(readFileSync(out, 'utf8')) as { modes: Record<string, { starts: object[] }> };
    const [ratio, none] = [expect.any(Number), expect.any(Array)];
    const measured = { cpuMicros: [ratio], p50Micros: none, p99Micros: none };
    for (const mode of COMPARED)
      expect([mode, modes[mode]?.starts[0]]).toEqual([
        mode,
        expect.objectContaining({ bare: measured, gateway: measured }),
      ]);
    const refusals = ['bare, 503 alone', 'bare, refusing', 'queue full', 'no token'].map((column) => [
      column,
      measured,
    ]);
    expect(modes['rejected']?.starts[0]).toMatchObject(Object.fromEntries(refusals));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('ends all that it has started when it is interrupted', async () => {
  const { child, end } = startBench([...BESIDE_BARE, '--mode', 'unary', '--rounds', '1000']);
  let started: number[] = [];
  // The engine, the load generator, and the two that are measured; a run that breaks off has none.
  await eventually(async () => {
    started = await childrenOf(child.pid ?? 0);
    return started.length === 4 || child.exitCode !== null;
  });
  child.kill('SIGINT');
  const { code, stdout } = await end;
  expect([code, stdout]).toEqual([130, '']);
  expect(started.filter(isAlive)).toEqual([]);
});

it.each([
  [['--mode', 'fast'], '--mode: "fast" is none of unary, alone, stream, messages, rejected, large, leaving, parked'],
  [['--only', 'gateway'], '--only must name bare: the others are measured against it'],
  [['--rounds', '0'], '--rounds: "0" is not a whole number from 1 to 1000'],
  [['--scale', '2'], '--scale: "2" is not a number from 0.01 to 1'],
  [['--write', '--profile', 'x'], '--write does not go with --profile'],
  [['--what'], "Unknown option '--what'"],
])('refuses %j, and says what is allowed', async (args, why) => {
  const { code, stdout, stderr } = await startBench(args).end;
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(why);
});
