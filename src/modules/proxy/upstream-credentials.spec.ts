import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { UpstreamConfig } from '../../common/config/upstreams.config.js';
import { UpstreamCredentials } from './upstream-credentials.js';

describe('UpstreamCredentials', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'credentials-'));
  const file = path.join(folder, 'key');
  const upstream = { name: 'up', credentialFile: file } as UpstreamConfig;
  const ignore = (): void => undefined;

  afterAll(() => rmSync(folder, { recursive: true }));

  it('reads a token, without the line end that editors leave', () => {
    writeFileSync(file, 'sk-engine_1\n');
    const credentials = new UpstreamCredentials([upstream], ignore);
    expect(credentials.authorization('up')).toBe('Bearer sk-engine_1');
    expect(credentials.authorization('other')).toBeUndefined();
    credentials.close();
  });

  it.each([
    ['nothing', ''],
    ['two lines', 'a\nb'],
    ['a header of its own', 'a\r\nx: y'],
    ['blanks', 'a b'],
  ])('stops the start on %s, without telling what is in the file', (_name, text) => {
    writeFileSync(file, text);
    expect(() => new UpstreamCredentials([upstream], ignore)).toThrow(
      `upstreams[0].credentialFile: the file ${file} does not hold one bearer token`,
    );
  });

  it('stops the start where there is no file', () => {
    const missing = { ...upstream, credentialFile: path.join(folder, 'missing') };
    expect(() => new UpstreamCredentials([{ name: 'plain' } as UpstreamConfig, missing], ignore)).toThrow(
      /^upstreams\[1\]\.credentialFile: the file .*missing cannot be read$/u,
    );
  });

  it('takes a new token, and keeps the old one where the new one is of no use', async () => {
    writeFileSync(file, 'first');
    const complaints: string[] = [];
    const credentials = new UpstreamCredentials([upstream], (message) => complaints.push(message));
    writeFileSync(file, 'second');
    await until(() => credentials.authorization('up') === 'Bearer second');
    writeFileSync(file, 'not a token');
    await until(() => complaints.length > 0);
    expect(credentials.authorization('up')).toBe('Bearer second');
    credentials.close();
  }, 15_000);
});

async function until(holds: () => boolean): Promise<void> {
  for (let i = 0; i < 100 && !holds(); i += 1) await new Promise((resolve) => setTimeout(resolve, 100));
  expect(holds()).toBe(true);
}
