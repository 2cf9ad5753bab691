import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Enough to see that it runs, too little to learn anything. */
const SHORT = { ...process.env, BENCH_SCALE: '0.01' };
const run = promisify(execFile);

/** What each says, at least: the beginnings of its rows. */
const ROWS: Readonly<Record<string, readonly string[]>> = {
  'admission.bench.mjs': ['enqueue, 100 tenants', 'cancel, held by a ceiling', 'enqueue, grant, release, idle pool'],
  'anthropic-render.bench.mjs': ['  translated: plain', '  translated : handed on ='],
  'budgets.bench.mjs': ['reserve and settle, one tenant', 'refuse, problem and stack included'],
  'relay.bench.mjs': ['a whole answer', 'a chunk of a stream'],
  'responses-render.bench.mjs': ['  text (', '  tool call (', 'responses : messages'],
  'scan.bench.mjs': ['1 KB chat', '300 KB chat', '5 MB image as base64'],
  'stream-render.bench.mjs': ['push: plain event', 'a rendering, made and begun', 'a rejection, rendered'],
  'tokens.bench.mjs': ['remembered (', 'verified, RS256', 'refused, signature'],
  'tracing.bench.mjs': ['off, no traceparent', 'on, the spans of a request'],
};

it('lists every micro-benchmark that there is', () => {
  const files = readdirSync(new URL('.', import.meta.url)).filter((name) => name.endsWith('.bench.mjs'));
  expect(Object.keys(ROWS).sort()).toEqual(files.sort());
});

it.each(Object.keys(ROWS))('%s runs on what is built, and prints its rows', async (file) => {
  const { stdout } = await run(process.execPath, [`test/bench/${file}`], { cwd: ROOT, env: SHORT, timeout: 15_000 });
  const lines = stdout.split('\n');
  for (const row of ROWS[file] ?? []) {
    const line = lines.find((each) => each.startsWith(row));
    expect(`${row}: ${line ?? 'no such row'}`).toMatch(/: .*\d/);
    expect(line).not.toMatch(/NaN|Infinity|undefined/);
  }
});
