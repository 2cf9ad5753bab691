import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FAST } from '../../src/sim/core/profiles.js';
import { startVllm, type VllmServer } from '../../src/sim/vllm.js';
import { AGENTS } from '../support/agent-commands.js';
import { AgentFolder, type AgentEnd } from '../support/agent-run.js';
import { listOr, objectOr, parseJson, type JsonObject } from '../support/json.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';

const MODEL = 'demo-chat';
const TABLE = 'High water at Skag: 14:05, 2.1 m';
const REPORT = 'Høgvatn kl. 14:05 \\ "spring" {tide}\n\t— 2,1 m 🌊';
const LAST_WORDS = 'The report is written.';

describe.each(AGENTS)('the agent $name, in a tool loop over $route', (agent) => {
  let engine: VllmServer;
  let gateway: RunningGateway;
  let folder: AgentFolder;
  let end: AgentEnd;

  beforeAll(async () => {
    engine = await startVllm({ models: [MODEL], profile: FAST, timeScale: 20 });
    gateway = await startGateway({
      upstreams: [{ name: 'engine', url: engine.url, engine: 'vllm' }],
      models: [{ id: MODEL, upstream: 'engine', operations: ['chat'] }],
    });
    folder = await AgentFolder.make();
    const table = join(folder.work, 'table.txt');
    await writeFile(table, TABLE);
    const script = [agent.read(table), agent.write(join(folder.work, 'report.txt'), REPORT), `sim:say ${LAST_WORDS}`];
    const prompt = ['Report the tide.', ...script].join('\n');
    end = await folder.run(agent.command({ origin: gateway.origin, model: MODEL, prompt, home: folder.home }));
  }, 120_000);

  afterAll(async () => {
    await gateway.stop();
    await engine.close();
    await folder.remove();
  }, 30_000);

  it('comes to its end and says what the model said last', () => {
    // What it wrote to stderr is in the comparison only to be seen when it fails.
    expect({ ...end, stdout: end.stdout.trim() }).toEqual({ ...end, code: 0, stdout: LAST_WORDS });
  });

  it('gives its tools just the arguments that the model chose', async () => {
    expect(await readFile(join(folder.work, 'report.txt'), 'utf8')).toBe(REPORT);
  });

  it('hands each result back to the model in the next turn', () => {
    const turns = turnsAt(engine);
    expect(turns.map((messages) => messages.map(({ role }) => role).filter((role) => role !== 'system'))).toEqual([
      ['user'],
      ['user', 'assistant', 'tool'],
      ['user', 'assistant', 'tool', 'assistant', 'tool'],
    ]);
    expect(JSON.stringify(turns[1]?.at(-1))).toContain(TABLE);
    const pairs = callsAndResults(turns[2] ?? []);
    expect(pairs).toEqual([expect.any(String), expect.any(String)].map((id: unknown) => [id, id]));
    for (const [call, result] of pairs) expect(result).toBe(call);
  });

  it('is counted as three good answers of that dialect, and nothing else', async () => {
    const route = { route: agent.route };
    expect(await gateway.metric('http_requests_total', { ...route, method: 'POST', status: '200' })).toBe(3);
    expect(await gateway.metric('http_requests_total')).toBe(3);
    expect(await gateway.metric('llm_ttft_seconds_count', { model: MODEL, dialect: agent.dialect })).toBe(3);
  });

  it('reaches no host but this machine', () => {
    expect(end.outsideHosts.filter((host) => !agent.knownOutsideHosts.includes(host))).toEqual([]);
  });
});

/** The messages of each chat request, in the order of their arrival. */
function turnsAt(engine: VllmServer): JsonObject[][] {
  return engine.requests
    .filter(({ path }) => path === '/v1/chat/completions')
    .map(({ body }) => listOr(objectOr(parseJson(body.toString()))['messages']).map(objectOr));
}

/** The id of each call beside the id that the result after it answers. */
function callsAndResults(messages: readonly JsonObject[]): [unknown, unknown][] {
  return messages.flatMap((message, at) =>
    listOr(message['tool_calls']).map((call): [unknown, unknown] => [
      objectOr(call)['id'],
      messages[at + 1]?.['tool_call_id'],
    ]),
  );
}
