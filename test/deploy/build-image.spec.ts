import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('../../scripts/build-image.mjs', import.meta.url));
const ASSEMBLE = fileURLToPath(new URL('../../scripts/assemble-app.mjs', import.meta.url));
const ALLOWED = 'a new folder, an empty one, or one that this script made before';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'gateway-root-'))));
afterEach(() => rmSync(folder, { recursive: true }));

function run(script: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: 'utf8', cwd: folder });
  return { status, stdout, stderr };
}

/** What a copy of this repository holds, or somebody's home. */
function fill(entries: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(entries)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

it.each([
  ['a clone', { '.git/HEAD': 'ref: refs/heads/main\n', 'package.json': '{}' }, '.git, package.json'],
  ['a Linux of its own', { 'etc/passwd': 'root:x:0:0:root:/root:/bin/bash\n' }, 'etc'],
])('leaves %s alone', (_, entries, shown) => {
  fill(entries);
  const before = readdirSync(folder, { recursive: true });
  expect(run(SCRIPT, '--root', folder)).toEqual({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining(`${folder} holds what this script has not put there (${shown})`),
  });
  expect(run(SCRIPT, '--root', '.').stderr).toContain(ALLOWED);
  expect(readdirSync(folder, { recursive: true })).toEqual(before);
});

it('leaves alone what somebody has put into a root', () => {
  const users = /'(root:.*?)',/u.exec(readFileSync(SCRIPT, 'utf8'))?.[1]?.replaceAll('\\n', '\n') ?? '';
  fill({ 'etc/passwd': users, 'notes.txt': 'mine', 'app/package.json': '{}' });
  const { status, stderr } = run(SCRIPT, '--root', folder);
  expect([status, stderr]).toEqual([1, expect.stringContaining('put there (notes.txt)')]);
  expect(readFileSync(join(folder, 'notes.txt'), 'utf8')).toBe('mine');
});

it('does not take a file for a folder', () => {
  fill({ file: 'mine' });
  expect(run(SCRIPT, '--root', 'file')).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('file is not a folder'),
  });
  expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('mine');
});

it.each([[[]], [['--root', '']], [['--archive', 'image.tar']]])('says how it is called instead of %j', (args) => {
  const { status, stderr } = run(SCRIPT, ...args);
  expect([status, stderr]).toEqual([1, expect.stringMatching(/--root FOLDER is missing\nusage: node /u)]);
  expect(stderr).not.toContain('    at ');
});

it('assembles the application in nothing but an empty folder', () => {
  fill({ 'notes.txt': 'mine' });
  const { status, stderr } = run(ASSEMBLE, folder);
  expect([status, stderr]).toEqual([1, `${folder} is not empty: name a new folder or an empty one\n`]);
  expect(readdirSync(folder)).toEqual(['notes.txt']);
});
