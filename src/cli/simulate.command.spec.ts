import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simulateCommand } from './simulate.command.js';

interface Run {
  readonly code: number;
  readonly out: readonly string[];
  readonly err: string;
}

/** Runs the command; `whileUp` gets the engine's address and ends its life by returning. */
async function simulate(
  argv: readonly string[],
  whileUp: (url: string) => Promise<void> = () => Promise.resolve(),
): Promise<Run> {
  const out: string[] = [];
  const err: string[] = [];
  const stopped = (): Promise<void> => whileUp(/http:\S+/.exec(out.join('\n'))?.[0] ?? '');
  const code = await simulateCommand(
    argv,
    {},
    (line) => out.push(line),
    (line) => err.push(line),
    stopped,
  );
  return { code, out, err: err.join('\n') };
}

const vllm = ['--engine', 'vllm', '--listen', '127.0.0.1:0', '--models', 'a,b'];

describe('gateway simulate', () => {
  it('runs the engine that it is told to, and prints one line with its address', async () => {
    let models: unknown;
    const run = await simulate(
      [...vllm, '--time-scale', '50', '--profile', 'fast', '--seed', '3', '--max-num-seqs', '2', '--faults'],
      async (url) => {
        models = await (await fetch(`${url}/v1/models`)).json();
        expect((await fetch(`${url}/__sim/faults`, { method: 'POST', body: '{}' })).status).toBe(200);
      },
    );
    expect(run).toEqual({
      code: 0,
      out: [expect.stringMatching(/^simulated engine on http:\/\/127\.0\.0\.1:\d+$/)],
      err: '',
    });
    expect(models).toMatchObject({ data: [{ id: 'a' }, { id: 'b' }] });
  });

  it.each([
    ['ollama', '/api/version'],
    ['tei', '/info'],
    ['echo', '/anything'],
  ])('runs a %s', async (engine, path) => {
    let status = 0;
    const argv = ['--engine', engine, '--listen', '127.0.0.1:0', '--models', 'a'];
    await simulate(argv, async (url) => void (status = (await fetch(url + path)).status));
    expect(status).toBe(200);
  });

  it('reads a profile from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'simulate-'));
    const file = join(folder, 'profile.yaml');
    await writeFile(file, 'blocks: 100\nblockTokens: 8\n');
    let page = '';
    await simulate(
      [...vllm, '--profile', file],
      async (url) => void (page = await (await fetch(`${url}/metrics`)).text()),
    );
    expect(page).toContain('num_gpu_blocks="100"');
    await writeFile(file, 'block: 100\n');
    expect((await simulate([...vllm, '--profile', file])).err).toContain('a profile has no key "block"');
    await rm(folder, { recursive: true });
  });

  it.each([
    [['--engine', 'gpt'], '--engine must be one of vllm, ollama, tei, echo'],
    [[...vllm, '--listen', '9101'], '--listen must be HOST:PORT'],
    [[...vllm, '--listen', '127.0.0.1:99999'], '--listen must be HOST:PORT'],
    [[...vllm, '--models', ''], '--models must name at least one model'],
    [[...vllm, '--engine', 'tei'], 'a tei engine serves one model'],
    [[...vllm, '--time-scale', '0'], '--time-scale must be a number above 0, not "0"'],
    [[...vllm, '--max-num-seqs', '1.5'], '--max-num-seqs must be a whole number above 0'],
    [[...vllm, '--profile', '/nowhere.yaml'], '--profile /nowhere.yaml: there is no such file'],
    [[...vllm, '--sede', '1'], "Unknown option '--sede'"],
  ])('turns away %j', async (argv, message) => {
    const run = await simulate(argv);
    expect(run).toMatchObject({ code: 1, out: [] });
    expect(run.err).toContain(message);
    expect(run.err).toContain('usage: gateway simulate');
  });

  it('says so where the address is taken', async () => {
    let second: Run | undefined;
    await simulate(
      vllm,
      async (url) => void (second = await simulate([...vllm, '--listen', url.replace('http://', '')])),
    );
    expect(second).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^gateway simulate: 127\.0\.0\.1:\d+ is taken/u),
    });
  });
});
