import OpenAI, { BadRequestError, InternalServerError } from 'openai';
import type { ResponseInput, ResponseStreamEvent } from 'openai/resources/responses/responses';
import { FAST } from '../../src/sim/core/profiles.js';
import { startVllm, type VllmServer } from '../../src/sim/vllm.js';
import { listOr, objectOr, parseJson } from '../support/json.js';
import { jsonOf, ScriptedEngine, type EngineScript } from '../support/scripted-engine.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import { chatAnswer, chatChunk, chatStream, usageChunk, type ToolCall } from './engine-answers.js';

const SCRIPTED = 'acme/chat:35b';
const SIMULATED = 'simulated';

let engine: ScriptedEngine;
let simulated: VllmServer;
let gateway: RunningGateway;
let client: OpenAI;

beforeAll(async () => {
  engine = await ScriptedEngine.start();
  simulated = await startVllm({ models: [SIMULATED], profile: FAST, timeScale: 20 });
  gateway = await startGateway({
    upstreams: [
      { name: 'engine', url: engine.url, engine: 'vllm' },
      { name: 'simulated', url: simulated.url, engine: 'vllm' },
    ],
    models: [
      { id: SCRIPTED, upstream: 'engine', operations: ['chat'] },
      { id: SIMULATED, upstream: 'simulated', operations: ['chat'] },
    ],
  });
  client = new OpenAI({ baseURL: `${gateway.origin}/v1`, apiKey: 'any' });
}, 90_000);

afterAll(async () => {
  await gateway.stop();
  await engine.stop();
  await simulated.close();
}, 30_000);

beforeEach(() => engine.play({ none: true }));

const ask = { model: SCRIPTED, input: 'hi' };
const tool = {
  type: 'function' as const,
  name: 'tide',
  description: 'How high the tide is',
  parameters: {
    type: 'object',
    properties: { harbour: { type: 'string' } },
    required: ['harbour'],
    additionalProperties: false,
  },
  strict: true,
};
const call: ToolCall = { id: 'call_1', type: 'function', function: { name: 'tide', arguments: '{"harbour":"Skag"}' } };

/** What the call was rejected with; fails where it was not. */
async function rejection(asked: PromiseLike<unknown>): Promise<unknown> {
  try {
    await asked;
  } catch (error) {
    return error;
  }
  throw new Error('the call was not rejected');
}

describe('responses.create', () => {
  it('answers at once', async () => {
    await engine.play(chatAnswer(SCRIPTED, { content: 'Hello.' }));
    const { data, request_id } = await client.responses
      .create({ ...ask, instructions: 'Be brief.', max_output_tokens: 20 })
      .withResponse();
    expect(data).toMatchObject({
      object: 'response',
      status: 'completed',
      model: SCRIPTED,
      output_text: 'Hello.',
      instructions: 'Be brief.',
      max_output_tokens: 20,
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    });
    expect(data.id).toBe(`resp_${String(request_id)}`);
    expect(jsonOf(engine.lastRequest)).toMatchObject({
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hi' },
      ],
      max_tokens: 20,
    });
  });

  it('streams', async () => {
    await engine.play(chatStream(SCRIPTED, ['Hel', 'lo.'], true));
    const events: ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ ...ask, stream: true })) events.push(event);
    const deltas = events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
    expect(deltas).toEqual(['Hel', 'lo.']);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
    expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: { usage: { total_tokens: 5 } } });
  });

  it('asks for an answer in a schema', async () => {
    await engine.play(chatAnswer(SCRIPTED, { content: '{"m":1.2}' }));
    const schema = { type: 'object', properties: { m: { type: 'number' } } };
    const format = { type: 'json_schema' as const, name: 'tide', schema, strict: true };
    const { output_text } = await client.responses.parse({ ...ask, text: { format } });
    expect(parseJson(output_text)).toEqual({ m: 1.2 });
    expect(jsonOf(engine.lastRequest)).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { name: 'tide', schema, strict: true } },
    });
  });
});

describe('responses.stream', () => {
  it('puts together what the engine says, thoughts and calls as well', async () => {
    await engine.play({
      sse: [
        chatChunk(SCRIPTED, { role: 'assistant', content: '' }),
        chatChunk(SCRIPTED, { reasoning_content: 'The user ' }),
        chatChunk(SCRIPTED, { reasoning_content: 'greets.' }),
        chatChunk(SCRIPTED, { content: 'Look' }),
        chatChunk(SCRIPTED, { content: 'ing.' }),
        ...callChunks(),
        chatChunk(SCRIPTED, {}, 'tool_calls'),
        usageChunk(SCRIPTED),
        'data: [DONE]\n\n',
      ],
    });
    const snapshots: string[] = [];
    const stream = client.responses.stream({ ...ask, tools: [tool] });
    stream.on('response.output_text.delta', ({ snapshot }) => snapshots.push(snapshot));
    const response = await stream.finalResponse();
    expect(snapshots).toEqual(['Look', 'Looking.']);
    expect(response).toMatchObject({
      status: 'completed',
      output_text: 'Looking.',
      output: [
        { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'The user greets.' }] },
        { type: 'message', content: [{ type: 'output_text', text: 'Looking.' }] },
        { type: 'function_call', call_id: 'call_1', name: 'tide', parsed_arguments: { harbour: 'Skag' } },
      ],
      usage: { total_tokens: 5 },
    });
  });

  it('resolves as failed where the engine fails in mid-stream, with the engine’s words', async () => {
    const error = 'data: {"error":{"message":"out of memory","type":"server_error","code":500}}\n\n';
    await engine.play({ sse: [chatChunk(SCRIPTED, { role: 'assistant', content: 'Hel' }), error] });
    const response = await client.responses.stream(ask).finalResponse();
    expect(response).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringContaining('out of memory') },
      output_text: 'Hel',
    });
  });

  it('never lets a stream that broke off pass for a finished one', async () => {
    await engine.play({
      script: [{ write: chatChunk(SCRIPTED, { role: 'assistant', content: 'Hel' }) }, { reset: true }],
    });
    const response = await client.responses.stream(ask).finalResponse();
    expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
  });

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('is incomplete where the engine stops by %s', async (finish, reason) => {
    await engine.play({
      sse: [chatChunk(SCRIPTED, { content: 'a' }), chatChunk(SCRIPTED, {}, finish), 'data: [DONE]\n\n'],
    });
    expect(await client.responses.stream(ask).finalResponse()).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason },
    });
  });

  it('leaves the engine when the caller aborts', async () => {
    await engine.play({ script: [{ write: chatChunk(SCRIPTED, { content: 'x' }) }, { delayMs: 60_000 }] });
    const stream = client.responses.stream(ask);
    stream.on('response.output_text.delta', () => stream.abort());
    expect(await rejection(stream.finalResponse())).toBeInstanceOf(OpenAI.APIUserAbortError);
    expect(await engine.sawAbort()).toBe(true);
  });
});

describe('tools over two turns', () => {
  const answer = { type: 'function_call_output' as const, call_id: call.id, output: 'Skag: 2 m' };
  const expectTurns = () => {
    expect(listOr(objectOr(jsonOf(engine.lastRequest))['messages'])).toEqual([
      { role: 'user', content: 'Tide at Skag?' },
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: 'Skag: 2 m' },
    ]);
  };

  it('work with whole answers', async () => {
    await engine.play((_, turn) =>
      chatAnswer(SCRIPTED, turn === 0 ? { tool_calls: [call] } : { content: 'It is 2 m high.' }),
    );
    const input: ResponseInput = [{ role: 'user', content: 'Tide at Skag?' }];
    const first = await client.responses.create({ ...ask, input, tools: [tool], store: false });
    expect(first.output).toMatchObject([{ type: 'function_call', call_id: call.id, name: 'tide' }]);
    const turns = [...input, ...first.output.map(asItem), answer];
    const second = await client.responses.create({ ...ask, input: turns, tools: [tool], store: false });
    expect(second.output_text).toBe('It is 2 m high.');
    expectTurns();
  });

  it('work with streams', async () => {
    await engine.play((_, turn) => (turn === 0 ? toolStream() : chatStream(SCRIPTED, ['2 m.'], true)));
    const input: ResponseInput = [{ role: 'user', content: 'Tide at Skag?' }];
    const first = await client.responses.stream({ ...ask, input, tools: [tool] }).finalResponse();
    const turns = [...input, ...first.output.map(asItem), answer];
    const second = await client.responses.stream({ ...ask, input: turns, tools: [tool] }).finalResponse();
    expect(second.output_text).toBe('2 m.');
    expectTurns();
  });

  it('work with a model that decides by itself, and thinks', async () => {
    const script = ['Tide at Skag?', 'sim:call tide {"harbour":"Skag"}', 'sim:say It is 2 m high.'];
    const input: ResponseInput = [{ role: 'user', content: script.join('\n') }];
    const asked = { model: SIMULATED, tools: [tool] };
    const first = await client.responses.stream({ ...asked, input }).finalResponse();
    const called = first.output.find((item) => item.type === 'function_call');
    expect(called).toMatchObject({ name: 'tide', parsed_arguments: { harbour: 'Skag' }, status: 'completed' });
    expect(first.usage?.total_tokens).toBeGreaterThan(0);
    const result = { ...answer, call_id: called?.call_id ?? '' };
    const turns = [...input, ...first.output.map(asItem), result];
    const second = await client.responses.stream({ ...asked, input: turns }).finalResponse();
    expect(second.output_text).toBe('It is 2 m high.');
  });

  /** An item of an answer without what the stream helper adds for its callers. */
  const asItem = (item: object): ResponseInput[number] =>
    JSON.parse(
      JSON.stringify(item, (name, value: unknown) => (name.startsWith('parsed') ? undefined : value)),
    ) as ResponseInput[number];

  const toolStream = (): EngineScript => ({
    sse: [
      chatChunk(SCRIPTED, { role: 'assistant', content: null }),
      ...callChunks(),
      chatChunk(SCRIPTED, {}, 'tool_calls'),
      'data: [DONE]\n\n',
    ],
  });
});

describe('errors', () => {
  it.each<[string, object]>([
    ['store', { store: true }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['background', { background: true }],
  ])('raise BadRequestError for %s, and say what to do', async (param, more) => {
    const error = await rejection(client.responses.create({ ...ask, ...more }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ status: 400, param, code: 'invalid_request', type: 'invalid_request_error' });
    expect((error as Error).message).toMatch(new RegExp(`400 ${param} is .*this gateway`));
    expect(engine.requests).toHaveLength(0);
  });

  it('make the client try again on 503', async () => {
    const busy: EngineScript = { status: 503, headers: { 'retry-after': '1' }, body: { error: { message: 'busy' } } };
    await engine.play((_, attempt) => (attempt === 0 ? busy : chatAnswer(SCRIPTED, { content: 'Hello.' })));
    expect((await client.responses.create(ask)).output_text).toBe('Hello.');
    await engine.play(busy);
    const error = await rejection(client.responses.create(ask, { maxRetries: 0 }));
    expect(error).toBeInstanceOf(InternalServerError);
    expect(error).toMatchObject({ status: 503, message: expect.stringContaining('busy') });
  });
});

/** The call in fragments, as an engine streams it. */
function callChunks(): string[] {
  const { name, arguments: all } = call.function;
  const fragment = (part: object) => chatChunk(SCRIPTED, { tool_calls: [{ index: 0, ...part }] });
  return [
    fragment({ id: call.id, type: 'function', function: { name, arguments: '' } }),
    fragment({ function: { arguments: all.slice(0, 5) } }),
    fragment({ function: { arguments: all.slice(5) } }),
  ];
}
