import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inPlainWords, reading, writing } from './system-errors.js';

const folder = mkdtempSync(join(tmpdir(), 'system-errors-'));
const file = join(folder, 'file');
writeFileSync(file, 'text');
afterAll(() => rmSync(folder, { recursive: true }));

const read = (path: string) => () => reading('--cases', path, () => readFileSync(path, 'utf8'));
const write = (path: string) => () => writing('--write', path, () => writeFileSync(path, ''));

it('says what cannot be read, and why', () => {
  const absent = join(folder, 'absent');
  expect(read(file)()).toBe('text');
  expect(read(absent)).toThrow(`--cases ${absent}: there is no such file`);
  expect(read(folder)).toThrow(`--cases ${folder}: it is a folder, and a file is wanted`);
});

it('says what cannot be written, and why', () => {
  const deep = join(folder, 'absent', 'file');
  expect(write(deep)).toThrow(`--write ${deep}: there is no folder ${join(folder, 'absent')}: make it first`);
  expect(write(folder)).toThrow(`--write ${folder}: it is a folder, and a file is wanted`);
  expect(write(join(file, 'x'))).toThrow('a part of the path is a file, not a folder');
});

it.each([
  ['127.0.0.1', /^127\.0\.0\.1:\d+ is taken: end what listens there, or choose another address$/u],
  ['192.0.2.1', /^192\.0\.2\.1:\d+ is no address of this machine: choose one that is$/u],
])('says what is wrong with the address %s', async (host, words) => {
  const first = createServer();
  const port = await new Promise<number>((resolve) => {
    first.listen(0, '127.0.0.1', () => resolve((first.address() as { port: number }).port));
  });
  const error = await new Promise((resolve) => createServer().once('error', resolve).listen(port, host));
  first.close();
  expect(inPlainWords(error)).toMatch(words);
});

it('leaves other errors their own words', () => {
  expect(inPlainWords(new Error('a bug'))).toBe('a bug');
  expect(inPlainWords('thrown')).toBe('thrown');
});
