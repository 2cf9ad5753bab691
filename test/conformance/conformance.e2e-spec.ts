import { foldStream } from '../support/fold-stream.js';
import { listOr, objectOr, type JsonObject } from '../support/json.js';
import { readByOfficialClient } from '../support/official-client.js';
import { official } from '../support/rendered-responses.js';
import { CaseGateways } from './case-gateways.js';
import { loadCaseFiles, type CaseDialect, type ConformanceCase } from './case-file.js';
import { faultsOf } from './check-case.js';
import { sendCase, type Received } from './send-case.js';

/** The dialects that the gateway serves: a case of another one is no test yet. */
const SERVED_DIALECTS: readonly CaseDialect[] = [
  'anthropic',
  'openai-chat',
  'openai-completions',
  'openai-embeddings',
  'openai-rerank',
  'openai-models',
  'openai-responses',
];

const gateways = new CaseGateways();

afterAll(() => gateways.stop(), 60_000);

/** Each gateway starts when the first case asks for it, hence the long limit. */
const LIMIT_MS = 90_000;

for (const { topic, cases } of loadCaseFiles()) {
  const served = cases.filter(({ dialect }) => SERVED_DIALECTS.includes(dialect));
  if (served.length === 0) continue;
  describe(topic, () => {
    for (const each of served) it(`${each.id}: ${each.name}`, () => run(each), LIMIT_MS);
  });
}

async function run(each: ConformanceCase): Promise<void> {
  const { engine, gateway, credential } = await gateways.for(each.upstream);
  await engine.play(each.upstream);
  const received = await sendCase(gateway, each.request, credential);
  expect(await faultsOf(each, { received, engine })).toEqual([]);
  if (each.dialect === 'openai-chat' && each.expect.outcome !== undefined) {
    await compareWithOfficialClient(received, each.expect.outcome);
  }
  if (each.dialect === 'openai-responses' && each.expect.outcome === 'complete') {
    const folded = foldStream('openai-responses', received.frames);
    const { output, ...response } = await official(received.response?.body ?? Buffer.alloc(0));
    // The client adds members of its own to the items.
    expect([response, output]).toMatchObject([withoutOutput(folded), listOr(folded['output'])]);
  }
}

const withoutOutput = ({ output: _, ...response }: JsonObject): JsonObject => response;

/** The official client must accept a complete stream, with the same content, and throw on a failed one. */
async function compareWithOfficialClient({ response, frames }: Received, outcome: 'complete' | 'error'): Promise<void> {
  const read = await readByOfficialClient(response?.body ?? Buffer.alloc(0));
  expect(read).toMatchObject({ verdict: outcome === 'complete' ? 'accepted' : 'thrown' });
  if (outcome === 'error') return;
  const contents = listOr(foldStream('openai-chat', frames)['choices']).map((choice) => messageOf(choice)['content']);
  // Where only an empty string came, the official client keeps it and the folded stream has null.
  expect(read.messages.map(({ content }) => (content === '' ? null : content))).toEqual(contents);
}

const messageOf = (choice: unknown) => objectOr(objectOr(choice)['message']);
