import { FAST, SLOTS } from './core/profiles.js';
import { startOllama, type OllamaOptions } from './ollama.js';
import type { SimServer } from './wire/sim-app.js';

const servers: SimServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function ollama(options: Partial<OllamaOptions> = {}): Promise<SimServer> {
  const server = await startOllama({
    models: ['ornith:35b', 'qwen2.5:3b-instruct'],
    profile: FAST,
    timeScale: 20,
    ...options,
  });
  servers.push(server);
  return server;
}

const chat = (server: SimServer, body: object): Promise<Response> =>
  fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'ornith:35b', messages: hello, ...body }),
  });

const hello = [{ role: 'user', content: 'Say something about rivers.' }];

/** The members of an answer that the tests look at. */
interface Call {
  readonly id: string;
  readonly index: number;
  readonly function: { readonly name: string; readonly arguments: string };
}
interface Answer {
  readonly system_fingerprint: string;
  readonly choices: readonly {
    readonly finish_reason: string | null;
    readonly delta: { readonly role: string; readonly tool_calls?: readonly Call[] };
  }[];
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const answerOf = async (response: Response): Promise<Answer> => JSON.parse(await response.text()) as Answer;

async function chunksOf(response: Response): Promise<Answer[]> {
  const frames = (await response.text())
    .trimEnd()
    .split('\n\n')
    .map((frame) => frame.replace(/^data: /, ''));
  expect(frames.pop()).toBe('[DONE]');
  return frames.map((frame) => JSON.parse(frame) as Answer);
}

const tool = (name: string): object => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { a: { type: 'string' } } } },
});

describe('ollama', () => {
  it('names the role in every chunk and the thought `reasoning`', async () => {
    const server = await ollama({ reasoningModels: ['ornith:35b'] });
    const chunks = await chunksOf(
      await chat(server, { stream: true, stream_options: { include_usage: true }, max_tokens: 5 }),
    );
    const deltas = chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta);
    expect(deltas.map(({ role }) => role)).toEqual(Array(6).fill('assistant'));
    expect(deltas[0]).toEqual({ role: 'assistant', content: '', reasoning: expect.any(String) });
    expect(deltas[3]).toEqual({ role: 'assistant', content: expect.stringMatching(/\w/) });
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 5 } });
    expect(chunks[0]?.system_fingerprint).toBe('fp_ollama');
  });

  it('gives parallel calls one index, each whole and with an id of its own', async () => {
    const body = {
      messages: [{ role: 'user', content: 'Run look and find.' }],
      tools: [tool('look'), tool('find')],
      stream: true,
    };
    const chunks = await chunksOf(await chat(await ollama({ callsEndWith: 'stop' }), body));
    const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    expect(calls.map(({ index, function: called }) => [index, called.name])).toEqual([
      [0, 'look'],
      [0, 'find'],
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    expect(JSON.parse(calls[0]?.function.arguments ?? '')).toEqual({ a: expect.any(String) });
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop');
  });

  it('knows max_tokens only', async () => {
    const server = await ollama();
    const { usage } = await answerOf(await chat(server, { max_completion_tokens: 3 }));
    expect(usage.completion_tokens).toBeGreaterThan(30);
    const { usage: limited, choices } = await answerOf(await chat(server, { max_tokens: 3 }));
    expect([limited.completion_tokens, choices[0]?.finish_reason]).toEqual([3, 'length']);
  });

  it('refuses content that is null, but not one that is left out', async () => {
    const server = await ollama();
    const refused = await chat(server, { messages: [...hello, { role: 'assistant', content: null }] });
    expect([refused.status, await refused.json()]).toEqual([400, { error: 'invalid message content type: <nil>' }]);
    const taken = await chat(server, { messages: [...hello, { role: 'assistant', tool_calls: [] }] });
    expect(taken.status).toBe(200);
  });

  it('says what is wrong in a text, or in newer releases in an object', async () => {
    const message = 'model "gpt" not found, try pulling it first';
    const old = await chat(await ollama(), { model: 'gpt' });
    expect([old.status, await old.json()]).toEqual([404, { error: message }]);
    const nested = await chat(await ollama({ errorStyle: 'nested' }), { model: 'gpt' });
    expect(await nested.json()).toMatchObject({ error: { message, type: 'not_found_error' } });
  });

  it('answers unknown routes, metrics among them, with plain text', async () => {
    const server = await ollama();
    const answers = await Promise.all(['/metrics', '/v1/rerank'].map((path) => fetch(server.url + path)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404]);
    expect(await answers[0]?.text()).toBe('404 page not found');
  });

  it('tells what is loaded', async () => {
    const server = await ollama({ contextLength: 8_192 });
    const get = async (path: string): Promise<unknown> => (await fetch(server.url + path)).json();
    expect(await get('/api/version')).toEqual({ version: expect.any(String) });
    const size = expect.any(Number) as unknown;
    expect(await get('/api/ps')).toMatchObject({
      models: [{ name: 'ornith:35b', context_length: 8_192, size, size_vram: size }, { model: 'qwen2.5:3b-instruct' }],
    });
    expect(await get('/api/tags')).toMatchObject({ models: [{ name: 'ornith:35b' }, {}] });
    expect(await get('/v1/models')).toMatchObject({ data: [{ id: 'ornith:35b', object: 'model' }, {}] });
  });

  it('cuts a prompt that is too long, and says nothing', async () => {
    const server = await ollama({ contextLength: 1_000 });
    const { usage } = await answerOf(await chat(server, { messages: [{ role: 'user', content: 'x'.repeat(40_000) }] }));
    expect(usage.prompt_tokens).toBe(744);
  });

  it('has slots for each model, a queue behind them, and an end to the queue', async () => {
    const server = await ollama({ profile: { ...SLOTS, slots: 1 }, timeScale: 10, maxQueue: 1 });
    const statuses = await Promise.all(
      [{}, {}, {}, { model: 'qwen2.5:3b-instruct' }].map(async (body) => (await chat(server, body)).status),
    );
    expect(statuses.toSorted()).toEqual([200, 200, 200, 503]);
    expect(server.stats()).toMatchObject({ peakRunning: 2, running: 0, waiting: 0 });
  });
});
