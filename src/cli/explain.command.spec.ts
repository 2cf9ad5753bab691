import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { explainCommand } from './explain.command.js';

const folder = mkdtempSync(join(tmpdir(), 'gateway-explain-'));
afterAll(() => rmSync(folder, { recursive: true }));

const GATEWAY = ['--config', 'config/gateway.yaml'];

async function explain(request: string, argv: readonly string[] = GATEWAY) {
  const out: string[] = [];
  const err: string[] = [];
  const print = { out: (line: string) => out.push(line), err: (line: string) => err.push(line) };
  const exit = await explainCommand(argv, {}, print, () => Promise.resolve(Buffer.from(request)));
  return { exit, out, err: err.join('\n') };
}

/** The example with something changed, as a file. */
function configWith(from: string, to: string): readonly string[] {
  const text = readFileSync('config/gateway.yaml', 'utf8');
  expect(text).toContain(from);
  const file = join(folder, 'gateway.yaml');
  writeFileSync(file, text.replace(from, to));
  return ['--config', file];
}

describe('gateway explain', () => {
  it.each([
    ['no request', '', 'the first line must be METHOD /path, such as POST /v1/chat/completions, not ""'],
    ['a URL', 'GET http://host/v1', 'not "GET http://host/v1"'],
  ])('turns away %s', async (_, request, message) => {
    const { exit, out, err } = await explain(request);
    expect([exit, out]).toEqual([1, []]);
    expect(err).toContain(message);
    expect(err).toContain('usage: gateway explain --config FILE < request');
  });

  it('says what is wrong with the configuration, or that there is none', async () => {
    expect(await explain('GET /', [])).toMatchObject({ exit: 1, err: expect.stringContaining('no configuration') });
    const broken = await explain('GET /', configWith('drainTimeout: 1h', 'drainTimeout: 1d'));
    expect(broken).toMatchObject({ exit: 1, err: expect.stringContaining('server.drainTimeout: "1d"') });
  });
});
