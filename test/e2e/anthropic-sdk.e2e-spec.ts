import Anthropic from '@anthropic-ai/sdk';
import AnthropicV0 from 'anthropic-sdk-v0';
import { listOr, objectOr } from '../support/json.js';
import { jsonOf, ScriptedEngine, type EngineRequest, type EngineScript } from '../support/scripted-engine.js';
import { startGateway, type RunningGateway } from '../support/start-gateway.js';
import { chatAnswer, chatChunk, chatStream, usageChunk, type ToolCall } from './engine-answers.js';

const CHAT = 'acme/chat:35b';
const EMBED = 'acme/embed';
const DONE = 'data: [DONE]\n\n';

/** The two differ in their headers and their types, and are used the same way. */
const SDKS: readonly (readonly [string, typeof Anthropic])[] = [
  ['1.14', Anthropic],
  ['0.137', AnthropicV0 as unknown as typeof Anthropic],
];

let engine: ScriptedEngine;
let gateway: RunningGateway;

beforeAll(async () => {
  engine = await ScriptedEngine.start();
  gateway = await startGateway({
    upstreams: [{ name: 'engine', url: engine.url, engine: 'vllm' }],
    models: [
      { id: CHAT, upstream: 'engine', operations: ['chat', 'completions'], contextLength: 8192 },
      { id: EMBED, upstream: 'engine', operations: ['embeddings'] },
    ],
  });
}, 90_000);

afterAll(async () => {
  await gateway.stop();
  await engine.stop();
}, 30_000);

beforeEach(() => engine.play({ none: true }));

const ask = { model: CHAT, max_tokens: 64, messages: [{ role: 'user' as const, content: 'hi' }] };
const TIDE = {
  name: 'tide',
  description: 'How high the tide is',
  input_schema: { type: 'object' as const, properties: { harbour: { type: 'string' as const } } },
};
const call: ToolCall = { id: 'call_1', type: 'function', function: { name: 'tide', arguments: '{"harbour":"Skag"}' } };

/** What the call was rejected with; fails where it was not. */
async function rejection(pending: PromiseLike<unknown>): Promise<unknown> {
  try {
    await pending;
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

function lastRequest(): EngineRequest {
  if (engine.lastRequest === undefined) throw new Error('the engine was not asked');
  return engine.lastRequest;
}

const bodyAtEngine = () => objectOr(jsonOf(lastRequest()));

/** Thinking, text and a call, each in two pieces, as a vLLM server streams them. */
const everything: EngineScript = {
  sse: [
    chatChunk(CHAT, { role: 'assistant', content: '' }),
    chatChunk(CHAT, { reasoning_content: 'Look ' }),
    chatChunk(CHAT, { reasoning_content: 'it up.' }),
    chatChunk(CHAT, { content: 'One ' }),
    chatChunk(CHAT, { content: 'moment.' }),
    chatChunk(CHAT, { tool_calls: [{ ...call, index: 0, function: { name: 'tide', arguments: '' } }] }),
    chatChunk(CHAT, { tool_calls: [{ index: 0, function: { arguments: '{"harbour"' } }] }),
    chatChunk(CHAT, { tool_calls: [{ index: 0, function: { arguments: ':"Skag"}' } }] }),
    chatChunk(CHAT, {}, 'tool_calls'),
    usageChunk(CHAT),
    DONE,
  ],
};

describe.each(SDKS)('the official SDK %s', (_, Sdk) => {
  let client: Anthropic;
  beforeAll(() => {
    client = new Sdk({ baseURL: `${gateway.origin}/llm`, apiKey: 'any' });
  });

  describe('models', () => {
    it('lists those that can chat', async () => {
      const ids: string[] = [];
      for await (const { id } of client.models.list()) ids.push(id);
      expect(ids).toEqual([CHAT]);
      expect(engine.requests).toHaveLength(0);
    });

    it('finds one whose id has a slash and a colon', async () => {
      const found = await client.models.retrieve(CHAT);
      expect(found).toMatchObject({ id: CHAT, type: 'model', display_name: CHAT, max_input_tokens: 8192 });
      expect(Date.parse(found.created_at)).toBe(0);
    });

    it('raises NotFoundError for one that is not there, or does something else', async () => {
      for (const id of ['nobody/none', EMBED]) {
        const error = await rejection(client.models.retrieve(id));
        expect(error).toBeInstanceOf(Sdk.NotFoundError);
        expect(error).toMatchObject({ status: 404, error: { type: 'error', error: { type: 'not_found_error' } } });
      }
    });
  });

  describe('create', () => {
    it('answers at once', async () => {
      await engine.play(chatAnswer(CHAT, { content: 'Hello.' }));
      const { data, request_id } = await client.messages.create(ask).withResponse();
      expect(data).toMatchObject({
        type: 'message',
        role: 'assistant',
        model: CHAT,
        content: [{ type: 'text', text: 'Hello.' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 2 },
      });
      expect(request_id).toMatch(/^[\w.-]{1,128}$/);
    });

    it('shows the thinking apart from the text', async () => {
      await engine.play({
        body: {
          choices: [{ index: 0, message: { reasoning: 'Two and two.', content: 'Four.' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 9, completion_tokens: 4 },
        },
      });
      const { content } = await client.messages.create({
        ...ask,
        max_tokens: 2048,
        thinking: { type: 'enabled', budget_tokens: 1024 },
      });
      expect(content).toMatchObject([
        { type: 'thinking', thinking: 'Two and two.', signature: expect.stringMatching(/.+/) },
        { type: 'text', text: 'Four.' },
      ]);
      expect(bodyAtEngine()).not.toHaveProperty('thinking');
    });

    it('keeps its credential from the engine, and its betas', async () => {
      await engine.play(chatAnswer(CHAT, { content: 'Hello.' }));
      await client.beta.messages.create({ ...ask, betas: ['interleaved-thinking-2025-05-14'] });
      expect(lastRequest().path).toBe('/v1/chat/completions');
      const names = Object.keys(lastRequest().headers);
      expect(names.filter((name) => /^(anthropic-|x-api-key$|authorization$)/.test(name))).toEqual([]);
    });
  });

  describe('stream', () => {
    it('puts thinking, text and a call together from their pieces', async () => {
      await engine.play(everything);
      const stream = client.messages.stream({ ...ask, tools: [TIDE] });
      const texts: string[] = [];
      stream.on('text', (text) => texts.push(text));
      const message = await stream.finalMessage();
      expect(texts).toEqual(['One ', 'moment.']);
      expect(message).toMatchObject({
        model: CHAT,
        content: [
          { type: 'thinking', thinking: 'Look it up.', signature: expect.stringMatching(/.+/) },
          { type: 'text', text: 'One moment.' },
          { type: 'tool_use', id: 'call_1', name: 'tide', input: { harbour: 'Skag' } },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 3, output_tokens: 2 },
      });
    });

    it('gives a likely size of the prompt before the engine has counted it', async () => {
      await engine.play(chatStream(CHAT, ['Hello.'], true));
      const events = await collect(await client.messages.create({ ...ask, stream: true }));
      expect(bodyAtEngine()['stream_options']).toEqual({ include_usage: true });
      const [start] = events;
      if (start?.type !== 'message_start') throw new Error('the stream does not begin with message_start');
      expect(start.message.usage.input_tokens).toBeGreaterThan(0);
      expect(events.at(-2)).toMatchObject({ type: 'message_delta', usage: { input_tokens: 3, output_tokens: 2 } });
      expect(events.at(-1)).toEqual({ type: 'message_stop' });
    });

    it('raises an error that the engine had in mid-stream', async () => {
      const failure = 'data: {"error":{"message":"out of memory","type":"server_error","code":500}}\n\n';
      await engine.play({ sse: [chatChunk(CHAT, { content: 'Hel' }), failure] });
      const error = await rejection(client.messages.stream(ask).finalMessage());
      expect(error).toBeInstanceOf(Sdk.APIError);
      expect((error as Error).message).toContain('out of memory');
    });

    it('never lets a stream that broke off pass for a finished one', async () => {
      await engine.play({ script: [{ write: chatChunk(CHAT, { content: 'Hel' }) }, { reset: true }] });
      expect(await rejection(client.messages.stream(ask).finalMessage())).toBeInstanceOf(Sdk.APIError);
      const events = await client.messages.create({ ...ask, stream: true });
      expect(await rejection(collect(events))).toBeInstanceOf(Sdk.APIError);
    });

    it('leaves the engine when the caller aborts', async () => {
      await engine.play({ script: [{ write: chatChunk(CHAT, { content: 'x' }) }, { delayMs: 60_000 }] });
      const stream = client.messages.stream(ask);
      stream.on('text', () => stream.abort());
      expect(await rejection(stream.finalMessage())).toBeInstanceOf(Sdk.APIUserAbortError);
      expect(await engine.sawAbort()).toBe(true);
    });
  });

  describe('tools', () => {
    it('run over two turns, the first of which is sent back as it came', async () => {
      await engine.play(everything);
      const first = await client.messages.stream({ ...ask, tools: [TIDE] }).finalMessage();
      await engine.play(chatAnswer(CHAT, { content: 'It is 2 m high.' }));
      const result = { type: 'tool_result' as const, tool_use_id: 'call_1', content: '2 m' };
      const second = await client.messages.create({
        ...ask,
        tools: [TIDE],
        messages: [...ask.messages, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }],
      });
      expect(second.content).toEqual([{ type: 'text', text: 'It is 2 m high.' }]);
      expect(listOr(bodyAtEngine()['messages'])).toEqual([
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'One moment.', reasoning_content: 'Look it up.', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: '2 m' },
      ]);
    });

    it.each([false, true])('run in the tool runner, stream: %s', async (stream) => {
      await engine.play((_request, turn) => {
        if (turn > 0) return stream ? chatStream(CHAT, ['2 m.'], true) : chatAnswer(CHAT, { content: '2 m.' });
        return stream ? everything : chatAnswer(CHAT, { tool_calls: [call] });
      });
      const runs: unknown[] = [];
      const run = (input: unknown): string => {
        runs.push(input);
        return '2 m';
      };
      const tool = { ...TIDE, type: 'custom' as const, parse: (input: unknown) => input, run };
      const runner = client.beta.messages.toolRunner({ ...ask, tools: [tool], stream });
      const message = await runner.runUntilDone();
      expect(message.content).toMatchObject([{ type: 'text', text: '2 m.' }]);
      expect(runs).toEqual([{ harbour: 'Skag' }]);
      // The newest SDK asks for a message thread first, is refused, and sends the same turn without one.
      expect(engine.requests).toHaveLength(2);
      expect(listOr(bodyAtEngine()['messages']).at(-1)).toMatchObject({ role: 'tool', content: '2 m' });
    });
  });

  describe('countTokens', () => {
    const counted = { model: CHAT, messages: ask.messages, system: 'Be brief.', tools: [TIDE] };

    it('asks the tokenizer of the engine', async () => {
      await engine.play({ none: true, tokenize: { count: 4711, max_model_len: 8192, tokens: [1, 2, 3] } });
      const { data, response } = await client.messages.countTokens(counted).withResponse();
      expect(data.input_tokens).toBe(4711);
      expect(response.headers.get('x-llmgw-token-count')).toBe('engine');
      const asked = engine.asides.filter(({ path }) => path === '/tokenize').map(jsonOf);
      expect(asked).toMatchObject([
        { model: CHAT, messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }], tools: [{}] },
      ]);
    });

    it('estimates where there is none, and says so', async () => {
      const { data, response } = await client.messages.countTokens(counted).withResponse();
      expect(data.input_tokens).toBeGreaterThan(5);
      expect(data.input_tokens).toBeLessThan(200);
      expect(response.headers.get('x-llmgw-token-count')).toBe('estimated');
      expect(engine.requests).toHaveLength(0);
    });
  });

  describe('errors', () => {
    it('are BadRequestError for a model that is not there, and name those that are', async () => {
      const error = await rejection(client.messages.create({ ...ask, model: 'nobody/none' }));
      expect(error).toBeInstanceOf(Sdk.BadRequestError);
      expect(error).toMatchObject({
        status: 400,
        requestID: expect.any(String),
        error: { type: 'error', code: 'unknown-model', error: { type: 'invalid_request_error' } },
      });
      expect((error as Error).message).toContain(CHAT);
      expect((error as Error).message).not.toContain(EMBED);
    });

    it.each([
      [400, 'BadRequestError', 'invalid_request_error', 400],
      [422, 'BadRequestError', 'invalid_request_error', 400],
      [404, 'NotFoundError', 'not_found_error', 404],
      [409, 'ConflictError', 'conflict_error', 409],
      [429, 'RateLimitError', 'rate_limit_error', 429],
      [401, 'InternalServerError', 'api_error', 502],
      [500, 'InternalServerError', 'api_error', 500],
      [503, 'InternalServerError', 'overloaded_error', 503],
      [529, 'InternalServerError', 'overloaded_error', 503],
    ] as const)('of an engine that answers %i are %s', async (status, name, type, seen) => {
      await engine.play({ status, body: { error: { message: 'the reason', type: 'x', code: status } } });
      const error = await rejection(client.messages.create(ask, { maxRetries: 0 }));
      expect(error).toBeInstanceOf(Sdk[name]);
      expect(error).toMatchObject({ status: seen, error: { error: { type } } });
      if (status !== 401) expect((error as Error).message).toContain('the reason');
    });

    it.each([503, 529])('make the client try again on %i, when the engine says', async (status) => {
      const overloaded = { status, headers: { 'retry-after': '1' }, body: { error: { message: 'overloaded' } } };
      await engine.play((_request, attempt) => (attempt === 0 ? overloaded : chatAnswer(CHAT, { content: 'Hello.' })));
      expect(await client.messages.create(ask)).toMatchObject({ content: [{ text: 'Hello.' }] });
      expect(engine.requests).toHaveLength(2);
    });
  });
});
