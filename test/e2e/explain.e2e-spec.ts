import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../support/run-command.js';

const folder = mkdtempSync(join(tmpdir(), 'gateway-explain-'));
afterAll(() => rmSync(folder, { recursive: true }));

const GATEWAY = ['--config', 'config/gateway.yaml'];

async function explain(request: string, argv: readonly string[] = GATEWAY) {
  const { code, stdout, stderr } = await runCommand(['explain', ...argv], request);
  const out = stdout.split('\n').map((line) => line.trim().replace(/ {2,}/, ': '));
  return { exit: code, out: out.filter((line) => line !== ''), err: stderr };
}

/** The example with something changed, as a file. */
function configWith(from: string, to: string): readonly string[] {
  const text = readFileSync('config/gateway.yaml', 'utf8');
  expect(text).toContain(from);
  const file = join(folder, 'gateway.yaml');
  writeFileSync(file, text.replace(from, to));
  return ['--config', file];
}

const post = (path: string, body: object, headers = ''): string => `POST ${path}\n${headers}\n${JSON.stringify(body)}`;
const messages = [{ role: 'developer', content: 'be brief' }];

describe('gateway explain', () => {
  it('says where a request by an alias goes, what is changed in it and what it meets', async () => {
    const { exit, out, err } = await explain(
      post('/v1/qwen/chat/completions', { model: 'gpt-4', stream: true, messages }, 'Authorization: Bearer x\n'),
    );
    expect(err).toBe('');
    expect(exit).toBe(0);
    expect(out).toEqual([
      'POST /v1/qwen/chat/completions',
      'route: /v1/qwen/chat/completions, an alias: the model is qwen2.5:3b-instruct whatever the body says',
      'dialect: openai, operation chat',
      'model: qwen2.5:3b-instruct, context of 32768 tokens',
      'upstream: ornith (ollama) at http://ornith-predictor.llm-serving:80, single: one endpoint',
      expect.stringMatching(/^sent as: POST \/v1\/chat\/completions, \d+ bytes$/),
      'edit: model was "gpt-4", becomes "qwen2.5:3b-instruct"',
      'edit: messages[0].role was "developer", becomes "system"',
      'edit: stream_options is added: {"include_usage":true}',
      'withheld: authorization',
      'rights: scope llm:chat (auth is off: nobody is asked)',
      'body: at most 1MiB; this one has 86 bytes',
      'timeouts: connect 10s, read 1h, write 1h',
      'slots: 4 in flight, 4 an endpoint',
      'caller: tenant anonymous',
      'band: gold: waits above a saturation of 0.9, with at most 128 others, for 5m at most',
      'budget: none: nobody is named',
    ]);
  });

  it('takes raw HTTP, and reads who calls as a trusted proxy would say it', async () => {
    const body = '{"model":"reasoning","messages":[]}';
    const head = [
      'POST /v1/chat/completions HTTP/1.1',
      'Host: api',
      'x-llmgw-session: svc-batch',
      'x-llmgw-band: bronze',
    ];
    const { out } = await explain([...head, `Content-Length: ${String(body.length)}`, '', body].join('\r\n'));
    expect(out).toEqual(
      expect.arrayContaining([
        'upstream: reasoning (vllm) at http://reasoning-predictor.llm-serving:80, dns: every address behind reasoning-predictor.llm-serving is an endpoint',
        'edit: none: the body goes on byte for byte',
        'slots: 7 in flight, 4 an endpoint, held while an endpoint has 4 or its KV cache is above 0.9, for 2m at most',
        'caller: tenant svc-batch',
        'band: bronze: waits above a saturation of 0.75, with at most 512 others, for 10m at most',
        'budget: 6000 requests and 10000000 tokens in 1m',
      ]),
    );
  });

  it('shows what another dialect becomes', async () => {
    const { out } = await explain(post('/llm/v1/messages', { model: 'reasoning', max_tokens: 5, system: 'be brief', messages: [{ role: 'user', content: 'hi' }] })); // prettier-ignore
    expect(out).toContain('dialect: anthropic, operation chat');
    expect(out).toContain('edit: system is left out');
    expect(out).toContain('edit: messages[0].role was "user", becomes "system"');
  });

  it('shows what a prefix becomes, and its own limits', async () => {
    const { out } = await explain('GET /cluster/nodes?ready=1\ncookie: a=b\n');
    expect(out).toEqual(
      expect.arrayContaining([
        'route: /cluster',
        'upstream: atlas (http) at http://atlas.riotpiao-backend:8080, single: one endpoint',
        'sent as: GET /nodes?ready=1, 0 bytes',
        'withheld: cookie',
        'rights: scope cluster:read (auth is off: nobody is asked)',
        'body: at most 64KiB; this one has 0 bytes',
        'timeouts: connect 5s, read 1m, write 1m',
      ]),
    );
  });

  it.each([
    [
      'an unknown model',
      post('/v1/chat/completions', { model: 'gpt-4', messages }),
      /^refused: 400 unknown-model: The model "gpt-4" is not served here/,
    ],
    ['an unknown path', 'GET /v2/models', /^refused: 404 not-found: /],
    ['a wrong method', 'DELETE /v1/models', /^refused: 405 method-not-allowed: /],
    ['a body that is no JSON', 'POST /v1/chat/completions\n{"model', /^refused: 400 invalid-body: /],
    ['a path of its own', 'GET /v1/models', /^answered: 200, by the gateway itself$/],
    [
      'half a request',
      'POST /v1/chat/completions\ncontent-length: 9\n\n{',
      /^answered: nothing: the request is not whole$/,
    ],
  ])('says what becomes of %s', async (_, request, said) => {
    const { exit, out } = await explain(request);
    expect(exit).toBe(0);
    expect(out).toContainEqual(expect.stringMatching(said));
  });

  it('calls nobody: neither engines nor issuers, and no token is needed to ask', async () => {
    const { out } = await explain(
      post('/v1/chat/completions', { model: 'reasoning', messages: [] }),
      configWith('${AUTH_ENABLED:-false}', 'true'),
    );
    expect(out).toContain('rights: scope llm:chat (the token must have it; here none was looked at)');
  });
});
