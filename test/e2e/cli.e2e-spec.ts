import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../support/run-command.js';

const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));
const COMMANDS = ['serve', 'check', 'explain', 'parity', 'schema', 'dashboard', 'simulate', 'scenarios', 'demo'];

describe('the command line', () => {
  it('lists every command', async () => {
    const { code, stdout, stderr } = await runCommand(['--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect([...stdout.matchAll(/^ {2}(\w+) /gmu)].map(([, name]) => name)).toEqual(COMMANDS);
  });

  it.each(COMMANDS)('says how %s is called, and does nothing else', async (name) => {
    const ends = await Promise.all([['--help'], ['--write', '-h']].map((args) => runCommand([name, ...args])));
    for (const { code, stdout, stderr } of ends)
      expect([code, stdout, stderr]).toEqual([
        0,
        expect.stringMatching(new RegExp(`^usage: gateway ${name}\\b`, 'u')),
        '',
      ]);
  });

  it('tells its version', async () => {
    const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { readonly version: string };
    expect(await runCommand(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  it.each([['--prot=9000'], ['stray']])('starts no demo where it is told %s', async (argument) => {
    const { code, stdout, stderr } = await runCommand(['demo', argument]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('usage: gateway demo');
  });
});
