import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../modules/config/load-config.js';
import { checkCommand } from './check.command.js';

const folder = mkdtempSync(join(tmpdir(), 'gateway-check-'));
afterAll(() => rmSync(folder, { recursive: true }));

function check(argv: readonly string[], env: Environment = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const exit = checkCommand(argv, env, (line) => out.push(line), (line) => err.push(line)); // prettier-ignore
  return { exit, out: out.join('\n'), err };
}

it('prints where every model goes, and with which limits', () => {
  const { exit, out, err } = check(['--config', 'config/gateway.yaml'], { MAX_BODY_BYTES: '2097152' });
  expect([exit, err]).toEqual([0, []]);
  expect(out).toContain(
    'reasoning: upstream reasoning (vllm, dns) http://reasoning-predictor.llm-serving:80, context 16384 tokens, slots 7 (4 per endpoint)\n' +
      '    chat: /v1/chat/completions, connect 10s, read 1h, write 1h, body 2MiB, scope llm:chat',
  );
  expect(out).toContain('rerank: /rerank, connect 10s, read 10m, write 10m, body 4MiB, scope llm:rerank');
  expect(out).toContain('/v1/qwen/chat/completions -> chat of qwen2.5:3b-instruct');
  expect(out).toContain(
    '/console GET,POST websocket: upstream console http://console.agent-pod:8080 without the prefix',
  );
  expect(out).toContain('bronze: ceiling 0.75, capacity 512, ttl 10m');
});

it('takes the file from GATEWAY_CONFIG, unless one is named', () => {
  expect(check([], { GATEWAY_CONFIG: 'config/local.yaml' }).out).toContain('http://127.0.0.1:9101');
  expect(check(['--config=config/gateway.yaml'], { GATEWAY_CONFIG: 'absent' }).exit).toBe(0);
});

it('prints every fault, each on its line', () => {
  const file = join(folder, 'faulty.yaml');
  const text = readFileSync('config/gateway.yaml', 'utf8');
  writeFileSync(
    file,
    text.replace('drainTimeout: 1h', 'drainTimeout: 1d').replace('defaultBand: gold', 'defaultBand: blue'),
  );
  const { exit, out, err } = check(['--config', file]);
  expect([exit, out]).toEqual([1, '']);
  expect(err).toEqual([
    expect.stringMatching(/faulty\.yaml:\d+:17 server\.drainTimeout: "1d" is not a duration above 0/u),
    expect.stringMatching(/faulty\.yaml:\d+:16 admission\.defaultBand: "blue" is not the name of a band/u),
  ]);
});

it('tells warnings behind the table', () => {
  const file = join(folder, 'wide.yaml');
  writeFileSync(file, readFileSync('config/gateway.yaml', 'utf8').replace('"10.0.0.0/8"', '"0.0.0.0/0"'));
  const { exit, out } = check(['--config', file]);
  expect(exit).toBe(0);
  expect(out.split('\n').at(-1)).toMatch(
    /^warning: .*wide\.yaml:\d+:\d+ server\.trustedProxies\[1\]: "0\.0\.0\.0\/0" is so wide/u,
  );
});

it.each([
  [[], 'no configuration: give --config FILE, or set GATEWAY_CONFIG'],
  [['--config'], 'gateway check --config FILE'],
  [['--confg', 'x'], 'gateway check --config FILE'],
  [['stray'], 'gateway check --config FILE'],
])('%j is answered with how to call it', (argv, message) => {
  const { exit, err } = check(argv);
  expect(exit).toBe(1);
  expect(err).toEqual([expect.stringContaining(message)]);
});
