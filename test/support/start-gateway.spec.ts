import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { gatewayYaml } from './gateway-config.js';
import { startGateway } from './start-gateway.js';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'program-'));
});

afterAll(() => rm(folder, { recursive: true }));

/** A program that stands in for the built gateway. */
async function program(source: string): Promise<{ program: string; env: Record<string, string> }> {
  const file = join(folder, `${String(Math.random()).slice(2)}.mjs`);
  await writeFile(file, source);
  return { program: file, env: { FROM_TEST: 'yes' } };
}

const LISTENS = `
  import { readFileSync } from 'node:fs';
  import { createServer } from 'node:http';
  const [, , command, flag, file] = process.argv;
  const server = createServer((req, res) => res.end('up{upstream="a"} 1\\n'));
  server.listen(0, '127.0.0.1', () => {
    const listen = '127.0.0.1:' + server.address().port;
    console.log('not json');
    console.log(JSON.stringify({ msg: 'seen', command, flag, yaml: readFileSync(file, 'utf8'), env: process.env.FROM_TEST }));
    console.log(JSON.stringify({ msg: 'listening', listen, management: listen }));
  });
`;

describe('startGateway', () => {
  it('waits until it listens, and reads its log and its metrics', async () => {
    const gateway = await startGateway('a: 1\n', await program(LISTENS));
    expect(gateway.logs()[0]).toEqual({ msg: 'seen', command: 'serve', flag: '--config', yaml: 'a: 1\n', env: 'yes' });
    expect(gateway.origin).toBe(`http://127.0.0.1:${String(gateway.port)}`);
    expect(await gateway.metric('up', { upstream: 'a' })).toBe(1);
    expect(gateway.pid).toBeGreaterThan(0);
    expect(await gateway.stop()).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('rejects with the output of a program that does not start', async () => {
    const broken = await program(`console.error('gateway.yaml:3:1 what is wrong'); process.exit(1);`);
    await expect(startGateway('', broken)).rejects.toThrow(/ended \(1\)[^]*gateway.yaml:3:1 what is wrong/);
  });
});

describe('gatewayYaml', () => {
  it('lays the sections of a test over the usual ones', () => {
    const yaml = gatewayYaml({
      upstreams: [{ name: 'a', url: 'http://127.0.0.1:1', engine: 'vllm', more: { connections: 1 } }],
      models: [{ id: 'm', upstream: 'a', operations: ['chat'] }],
      operations: { chat: { maxBody: '1KiB' } },
      server: { drainTimeout: '1s' },
    });
    expect(parse(yaml)).toMatchObject({
      server: { listen: '127.0.0.1:0', drainTimeout: '1s' },
      upstreams: [{ name: 'a', discover: 'single', connections: 1, slots: { limit: 32 } }],
      models: [{ id: 'm', contextLength: 32_768 }],
      operations: { chat: { path: '/v1/chat/completions', maxBody: '1KiB' }, rerank: { path: '/rerank' } },
      aliases: [],
      proxies: [],
    });
  });
});
