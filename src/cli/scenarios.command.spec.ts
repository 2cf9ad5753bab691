import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scenariosCommand } from './scenarios.command.js';

function ran(...argv: string[]) {
  const printed: string[] = [];
  const complained: string[] = [];
  const code = scenariosCommand(
    argv,
    {},
    (line) => printed.push(line),
    (line) => complained.push(line),
  );
  return { code, printed: printed.join('\n'), complained: complained.join('\n') };
}

describe('scenariosCommand', () => {
  it('prints what was measured of the chosen scenarios and policies', () => {
    const { code, printed } = ran('--only', 'S1,S4', '--policies', 'none,controller', '--seeds', '1', '--quick');
    expect(code).toBe(0);
    expect(printed).toMatch(/\| S1 \| no gate \| chat [\d.]+\/[\d.]+/);
    expect(printed).toMatch(/\| S4 \| this controller \| batch /);
    expect(printed).toContain('| *reference* | 57.0/643 |');
  });

  it.each([
    [['--only', 'S9'], '--only: there is no "S9"; there are S1, S2'],
    [['--policies', 'luck'], '--policies: there is no "luck"'],
    [['--seeds', '0'], '--seeds must be a whole number above 0'],
    [['--loud'], "Unknown option '--loud'"],
  ])('refuses %j', (argv, message) => {
    const { code, complained } = ran(...argv);
    expect(code).toBe(1);
    expect(complained).toContain(message);
    expect(complained).toContain('usage: gateway scenarios');
  });

  it('writes the page and its chart', () => {
    const folder = mkdtempSync(join(tmpdir(), 'scenarios-'));
    try {
      const argv = ['--only', 'S1', '--policies', 'gauges,controller', '--seeds', '1', '--quick', '--write', folder];
      expect(ran(...argv).code).toBe(0);
      const page = readFileSync(join(folder, 'scenarios.md'), 'utf8');
      expect(page).toContain('### Two endpoints, 2 s apart');
      expect(page).toContain('| without backlog |');
      expect(page).not.toContain('undefined');
      expect(readFileSync(join(folder, 'scenarios.svg'), 'utf8')).toMatch(/^<svg [^]*<\/svg>\n$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
