import OpenAI, { BadRequestError, InternalServerError, NotFoundError } from 'openai';
import { listOr, objectOr } from '../support/json.js';
import { jsonOf, ScriptedEngine, type EngineRequest, type EngineScript } from '../support/scripted-engine.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import { askedForUsage, chatAnswer, chatChunk, chatStream, embeddingsAnswer, type ToolCall } from './engine-answers.js';

const CHAT = 'acme/chat:35b';
const EMBED = 'acme/embed';

let engine: ScriptedEngine;
let gateway: RunningGateway;
let client: OpenAI;

beforeAll(async () => {
  engine = await ScriptedEngine.start();
  gateway = await startGateway({
    upstreams: [{ name: 'engine', url: engine.url, engine: 'vllm' }],
    models: [
      { id: CHAT, upstream: 'engine', operations: ['chat', 'completions'] },
      { id: EMBED, upstream: 'engine', operations: ['embeddings'] },
    ],
  });
  client = new OpenAI({ baseURL: `${gateway.origin}/v1`, apiKey: 'any' });
}, 90_000);

afterAll(async () => {
  await gateway.stop();
  await engine.stop();
}, 30_000);

beforeEach(() => engine.play({ none: true }));

const messages = [{ role: 'user', content: 'hi' }] as const;
const ask = { model: CHAT, messages: [...messages] };

/** What the call was rejected with; fails where it was not. */
async function rejection(call: PromiseLike<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error('the call was not rejected');
}

async function collect<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

describe('models', () => {
  it('lists what is configured', async () => {
    const ids: string[] = [];
    for await (const model of client.models.list()) ids.push(model.id);
    expect(ids).toEqual([CHAT, EMBED]);
    expect(engine.requests).toHaveLength(0);
  });

  it('finds one whose id has a slash and a colon', async () => {
    expect(await client.models.retrieve(CHAT)).toMatchObject({ id: CHAT, object: 'model' });
  });

  it('raises NotFoundError for one that is not there', async () => {
    const error = await rejection(client.models.retrieve('nobody/none'));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({
      status: 404,
      code: 'model_not_found',
      message: expect.stringContaining('no model of that name'),
    });
  });
});

describe('chat', () => {
  it('answers at once', async () => {
    await engine.play(chatAnswer(CHAT, { content: 'Hello.' }));
    const { data, request_id } = await client.chat.completions.create(ask).withResponse();
    expect(data.choices[0]?.message.content).toBe('Hello.');
    expect(data.usage?.total_tokens).toBe(5);
    expect(request_id).toMatch(/^[\w.-]{1,128}$/);
  });

  it('streams, with the usage that was asked for', async () => {
    await engine.play((request) => chatStream(CHAT, ['Hel', 'lo.'], askedForUsage(request)));
    const stream = await client.chat.completions.create({
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await collect(stream);
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('Hello.');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 5 } });
  });

  it('streams without a chunk that has no choices, where no usage was asked for', async () => {
    await engine.play((request) => chatStream(CHAT, ['Hello.'], askedForUsage(request)));
    const chunks = await collect(await client.chat.completions.create({ ...ask, stream: true }));
    expect(askedForUsage(lastRequest())).toBe(true);
    expect(chunks.map(({ choices }) => choices.length)).toEqual([1, 1, 1]);
  });

  it('feeds the stream helper', async () => {
    await engine.play((request) => chatStream(CHAT, ['Hel', 'lo.'], askedForUsage(request)));
    const stream = client.chat.completions.stream(ask);
    const deltas: string[] = [];
    stream.on('content', (delta) => deltas.push(delta));
    const completion = await stream.finalChatCompletion();
    expect(deltas.filter((delta) => delta !== '')).toEqual(['Hel', 'lo.']);
    expect(completion.choices[0]).toMatchObject({ message: { content: 'Hello.' }, finish_reason: 'stop' });
  });

  it('raises an error that the engine had in mid-stream', async () => {
    const error = 'data: {"error":{"message":"out of memory","type":"server_error","code":500}}\n\n';
    await engine.play({ sse: [chatChunk(CHAT, { role: 'assistant', content: 'Hel' }), error] });
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    expect(await rejection(collect(stream))).toMatchObject({ message: expect.stringContaining('out of memory') });
  });

  it('never lets a stream that broke off pass for a finished one', async () => {
    await engine.play({ script: [{ write: chatChunk(CHAT, { role: 'assistant', content: 'Hel' }) }, { reset: true }] });
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    expect(await rejection(collect(stream))).toBeInstanceOf(Error);
  });

  it('leaves the engine when the caller aborts in mid-stream', async () => {
    await engine.play({
      script: [{ write: chatChunk(CHAT, { role: 'assistant', content: 'x' }) }, { delayMs: 60_000 }],
    });
    const stream = await client.chat.completions.create({ ...ask, stream: true });
    for await (const chunk of stream) {
      expect(chunk.choices[0]?.delta.content).toBe('x');
      stream.controller.abort();
    }
    expect(await engine.sawAbort()).toBe(true);
  });
});

describe('tools', () => {
  const call: ToolCall = {
    id: 'call_1',
    type: 'function',
    function: { name: 'tide', arguments: '{"harbour":"Skag"}' },
  };

  it('runs over two turns', async () => {
    await engine.play((_, turn) =>
      chatAnswer(CHAT, turn === 0 ? { tool_calls: [call] } : { content: 'It is 2 m high.' }),
    );
    const runner = client.chat.completions.runTools({ ...ask, tools: [tide()] });
    expect(await runner.finalContent()).toBe('It is 2 m high.');
    expect(listOr(objectOr(jsonOf(lastRequest()))['messages'])).toMatchObject([
      { role: 'user' },
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'Skag: 2 m' },
    ]);
  });

  it('runs over two turns of a stream', async () => {
    await engine.play((request, turn) =>
      turn === 0 ? toolStream() : chatStream(CHAT, ['2 m.'], askedForUsage(request)),
    );
    const runner = client.chat.completions.runTools({ ...ask, stream: true, tools: [tide()] });
    expect(await runner.finalContent()).toBe('2 m.');
    expect(engine.requests).toHaveLength(2);
  });

  function toolStream(): EngineScript {
    const { arguments: all, name } = call.function;
    const fragment = (part: object) => chatChunk(CHAT, { tool_calls: [{ index: 0, ...part }] });
    return {
      sse: [
        chatChunk(CHAT, { role: 'assistant', content: null }),
        fragment({ id: call.id, type: 'function', function: { name, arguments: '' } }),
        fragment({ function: { arguments: all.slice(0, 5) } }),
        fragment({ function: { arguments: all.slice(5) } }),
        chatChunk(CHAT, {}, 'tool_calls'),
        'data: [DONE]\n\n',
      ],
    };
  }

  const tide = () => ({
    type: 'function' as const,
    function: {
      name: 'tide',
      description: 'How high the tide is',
      parameters: { type: 'object', properties: { harbour: { type: 'string' } } },
      parse: JSON.parse,
      function: ({ harbour }: { harbour: string }) => `${harbour}: 2 m`,
    },
  });
});

describe('embeddings', () => {
  it('come as the numbers that the engine computed, though the client asks for base64', async () => {
    await engine.play((request) =>
      embeddingsAnswer(request, [
        [0.5, -0.25, 2, 8],
        [1, 0, -1, 0.125],
      ]),
    );
    const { data } = await client.embeddings.create({ model: EMBED, input: ['a', 'b'] });
    expect(objectOr(jsonOf(lastRequest()))['encoding_format']).toBe('base64');
    expect(data.map(({ embedding }) => embedding)).toEqual([
      [0.5, -0.25, 2, 8],
      [1, 0, -1, 0.125],
    ]);
  });

  it('come right from an engine that takes no notice of base64', async () => {
    const numbers = { object: 'embedding', index: 0, embedding: [0.5, -0.25, 2, 8] };
    await engine.play({
      body: { object: 'list', data: [numbers], model: EMBED, usage: { prompt_tokens: 1, total_tokens: 1 } },
    });
    const { data } = await client.embeddings.create({ model: EMBED, input: 'a' });
    expect(data[0]?.embedding).toEqual([0.5, -0.25, 2, 8]);
  });
});

describe('errors', () => {
  it('raise BadRequestError for a model that is not there, and name those that are', async () => {
    const error = await rejection(client.chat.completions.create({ ...ask, model: 'nobody/none' }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({
      status: 400,
      code: 'model_not_found',
      param: 'model',
      requestID: expect.any(String),
    });
    expect((error as Error).message).toContain(CHAT);
    expect((error as Error).message).not.toContain(EMBED);
    expect(engine.requests).toHaveLength(0);
  });

  it('show the message of an engine that refuses a field', async () => {
    await engine.play({ status: 400, body: { object: 'error', message: 'temperature must be at most 2', code: 400 } });
    const error = await rejection(client.chat.completions.create({ ...ask, temperature: 9 }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ message: expect.stringContaining('temperature must be at most 2') });
    expect(engine.requests).toHaveLength(1);
  });

  it('make the client try again on 503, when the engine says', async () => {
    await engine.play((_, attempt) => (attempt === 0 ? overloaded : chatAnswer(CHAT, { content: 'Hello.' })));
    const completion = await client.chat.completions.create(ask);
    expect(completion.choices[0]?.message.content).toBe('Hello.');
    expect(engine.requests).toHaveLength(2);
  });

  it('raise InternalServerError with the retry time where no try is left', async () => {
    await engine.play(overloaded);
    const error = await rejection(client.chat.completions.create(ask, { maxRetries: 0 }));
    expect(error).toBeInstanceOf(InternalServerError);
    expect((error as InternalServerError).headers.get('retry-after')).toBe('1');
    expect(error).toMatchObject({ status: 503, message: expect.stringContaining('overloaded') });
  });

  const overloaded: EngineScript = {
    status: 503,
    headers: { 'retry-after': '1' },
    body: { error: { message: 'the engine is overloaded', type: 'server_error', param: null, code: 503 } },
  };
});

function lastRequest(): EngineRequest {
  if (engine.lastRequest === undefined) throw new Error('the engine was not asked');
  return engine.lastRequest;
}
