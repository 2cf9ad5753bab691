import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseCaseFile } from '../../src/cli/parity/case-file.js';
import { loadConfig } from '../../src/modules/config/load-config.js';
import { startLocalEngines, type LocalEngines } from '../../src/sim/local-engines.js';
import { runCommand } from '../support/run-command.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

import.meta.jest.setTimeout(30_000);

const CASES = 'config/parity.yaml';
const ANY_PORT = { reasoning: 0, ornith: 0, embeddings: 0, reranker: 0, echo: 0 };

/** What is changed in the configuration of the right one, and what is said of it. */
const DIFFERENCES: readonly (readonly [name: string, from: string, to: string, said: string])[] = [
  [
    'a model by another name',
    "id: 'BAAI/bge-reranker-base'",
    "id: 'bge'",
    'body data[4].id: "BAAI/bge-reranker-base" | "bge"',
  ],
  [
    'an alias that is gone',
    '  - { path: /v1/qwen/chat/completions',
    '  # { path: /v1/qwen/chat/completions',
    'status: 200 | 404',
  ],
  ['a prefix that is gone', 'prefix: /console', 'prefix: /konsole', 'status: 200 | 404'],
  [
    'another problem base',
    'https://api.riotpiao.com/problems/',
    'https://else.where/',
    'body type: "https://api.riotpiao.com/problems/unknown-model" | "https://else.where/unknown-model"',
  ],
];

let engines: LocalEngines;
let local: string;
let left: RunningGateway;

beforeAll(async () => {
  engines = await startLocalEngines(ANY_PORT);
  local = await readFile('config/local.yaml', 'utf8');
  left = await start(local);
});
afterAll(async () => {
  await left.stop();
  await engines.close();
});

/** A gateway of the laptop's configuration, in front of the engines of this test. */
function start(yaml: string): Promise<RunningGateway> {
  const urls = Object.entries(engines.servers).map(([name, { url }]) => [`${name.toUpperCase()}_URL`, url]);
  return startGateway(yaml, {
    env: { LISTEN: '127.0.0.1:0', MANAGEMENT: '127.0.0.1:0', ...(Object.fromEntries(urls) as Record<string, string>) },
  });
}

async function parity(right: string, ...more: readonly string[]) {
  const argv = ['parity', '--left', left.origin, '--right', right, '--cases', CASES, ...more];
  const { code, stdout, stderr } = await runCommand(argv);
  return { code, stderr, lines: stdout.trimEnd().split('\n') };
}

/** With a gateway whose configuration differs in this. */
async function parityWithOther(from: string, to: string): ReturnType<typeof parity> {
  expect(local).toContain(from);
  const right = await start(local.replace(from, to));
  try {
    return await parity(right.origin);
  } finally {
    await right.stop();
  }
}

describe('gateway parity', () => {
  it('finds two gateways of one configuration the same, case by case', async () => {
    const { code, lines, stderr } = await parityWithOther('drainDelay: 0s', 'drainDelay: 1s');
    expect(lines.filter((line) => !line.includes('] same'))).toEqual([
      expect.stringMatching(/^\d+ cases: \d+ the same, 0 different/),
    ]);
    expect([code, stderr]).toEqual([0, '']);
    const statuses = lines.map((line) => /(\d+) in \d+ ms \|/.exec(line)?.[1]);
    expect(new Set(statuses)).toEqual(new Set(['200', '101', '400', '404', '405', undefined]));
  });

  describe('between gateways that differ', () => {
    let outcomes: Awaited<ReturnType<typeof parity>>[];

    // Beside each other: most of the time a run waits for engines.
    beforeAll(async () => {
      outcomes = await Promise.all(DIFFERENCES.map(([, from, to]) => parityWithOther(from, to)));
    }, 60_000);

    it.each(DIFFERENCES.map(([name, , , said], at) => [name, said, at] as const))('sees %s', (_, said, at) => {
      const { code, lines = [] } = outcomes[at] ?? {};
      expect(code).toBe(1);
      expect(lines.map((line) => line.trim())).toContain(said);
      expect(lines.some((line) => line.includes('DIFFERS'))).toBe(true);
      expect(lines.at(-1)).toMatch(/[1-9]\d* different/);
    });
  });

  it('asks only what a group says, and passes over what Kong adds', async () => {
    const kong = createServer((request, response) => {
      void fetch(left.origin + (request.url ?? ''), { method: request.method ?? 'GET' }).then(async (answer) => {
        response.setHeader('via', '1.1 kong').setHeader('X-Kong-Proxy-Latency', '1').setHeader('Server', 'kong');
        answer.headers.forEach((value, name) => name === 'content-type' && response.setHeader(name, value));
        response.writeHead(answer.status).end(await answer.text());
      });
    }).listen(0, '127.0.0.1');
    await once(kong, 'listening');
    const { lines } = await parity(
      `http://127.0.0.1:${String((kong.address() as AddressInfo).port)}`,
      '--group',
      'kong',
    );
    kong.close().closeAllConnections();
    expect(lines[0]).toMatch(/^\[1\/7\] same {4}the list of models: GET \/v1\/models, 200 in \d+ ms \| 200 in/);
  });

  it('takes a gateway that does not answer for a different one', async () => {
    const { code, lines } = await parity('http://127.0.0.1:9', '--group', 'kong');
    expect(code).toBe(1);
    expect(lines.at(-1)).toContain('7 cases: 0 the same, 7 different');
    expect(lines[1]).toContain('failure: nothing | "connect ECONNREFUSED');
  });
});

describe('config/parity.yaml', () => {
  it('has a case for every route', async () => {
    const cases = parseCaseFile(await readFile(CASES, 'utf8'), CASES, {});
    const { config } = loadConfig('config/gateway.yaml', {});
    const models = config.models.map(({ id }) => id);
    const routes = [
      ...[
        '/healthz',
        '/readyz',
        '/v1/models',
        '/v1/chat/completions',
        '/v1/completions',
        '/v1/embeddings',
        '/v1/rerank',
      ],
      ...[
        '/llm/v1/messages',
        '/llm/v1/messages/count_tokens',
        '/llm/v1/models',
        '/sqs',
        '/workflow',
        '/cluster',
        '/db',
      ],
      ...config.aliases.map(({ path }) => path),
      ...config.proxies.map(({ prefix }) => prefix),
    ];
    const asked = cases.map(({ request }) => request.path);
    expect(routes.filter((route) => !asked.some((path) => path === route || path.startsWith(`${route}/`)))).toEqual([]);
    const bodies = cases.map(({ request }) => request.body ?? '');
    expect(models.filter((model) => !bodies.some((body) => body.includes(JSON.stringify(model))))).toEqual([]);
  });
});

describe('a case file with a fault in it', () => {
  it.each([
    ['cases: [', /^gateway parity: .*cases\.yaml:1 /],
    ['[]', /cases\.yaml:1 the file must be a map/],
    ['cases: []', /cases\.yaml:1 cases must be a list of at least one case/],
    ['cases:\n  - name: x\n    compare: same\n', /cases\.yaml:2 cases\[0\]\.request must be a map/],
    [
      'cases:\n  - name: x\n    request: { method: GET, path: v1 }\n    compare: same',
      /cases\.yaml:3 cases\[0\]\.request\.path must begin with "\/"/,
    ],
    [
      'cases:\n  - name: x\n    request: { method: get, path: / }\n    compare: same',
      /request\.method must be a method in capitals/,
    ],
    [
      'cases:\n  - name: x\n    request: { method: GET, path: / }\n    compare: alike',
      /cases\.yaml:4 cases\[0\]\.compare must be one of same, shape, status/,
    ],
    [
      'cases:\n  - name: x\n    request: { method: GET, path: /, json: 1, text: a }\n    compare: same',
      /request\.text is given besides json/,
    ],
    [
      'cases:\n  - name: x\n    requst: {}\n    compare: same',
      /cases\.yaml:3 cases\[0\]\.requst is not known; there are name, groups, request/,
    ],
    [
      'cases:\n  - name: x\n    request: { method: GET, path: /, headers: { authorization: "Bearer ${TOKEN}" } }\n    compare: same',
      /authorization names the variable TOKEN, which is not set/,
    ],
    [
      'cases:\n  - &a { name: x, request: { method: GET, path: / }, compare: same }\n  - *a',
      /name is the name of another case too/,
    ],
  ])('%#: is told with its line', async (text, said) => {
    const folder = await mkdtemp(join(tmpdir(), 'parity-'));
    const file = join(folder, 'cases.yaml');
    await writeFile(file, text);
    const argv = ['parity', '--left', 'http://127.0.0.1:9', '--right', 'http://127.0.0.1:9', '--cases', file];
    const { code, stderr, stdout } = await runCommand(argv);
    await rm(folder, { recursive: true });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(said);
    expect(stderr).toContain('usage: gateway parity --left URL');
  });
});
