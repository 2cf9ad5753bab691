import OpenAI from 'openai';
import { FAST, VOLTA } from './core/profiles.js';
import { startVllm, type VllmOptions, type VllmServer } from './vllm.js';

const servers: VllmServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function vllm(options: Partial<VllmOptions> = {}): Promise<VllmServer> {
  const server = await startVllm({ models: ['reasoning'], profile: FAST, timeScale: 20, ...options });
  servers.push(server);
  return server;
}

const client = (server: VllmServer): OpenAI =>
  new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });

const hello = { model: 'reasoning', messages: [{ role: 'user' as const, content: 'Say something about rivers.' }] };

const tool = (name: string) => ({
  type: 'function' as const,
  function: {
    name,
    parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
  },
});

describe('vllm: the official client', () => {
  it('lists the models', async () => {
    const page = await client(await vllm({ models: ['reasoning', 'alias'] })).models.list();
    expect(page.data.map(({ id }) => id)).toEqual(['reasoning', 'alias']);
  });

  it('gets a whole answer, thought and said apart', async () => {
    const { choices, usage } = await client(await vllm()).chat.completions.create(hello);
    expect(choices[0]?.message.content).toMatch(/^[A-Z]\w+ /);
    expect(choices[0]?.message).toHaveProperty('reasoning_content', expect.stringMatching(/\w+ \w+/));
    expect(choices[0]?.finish_reason).toBe('stop');
    expect(usage).toMatchObject({ prompt_tokens: 7, prompt_tokens_details: { cached_tokens: 0 } });
    expect(usage?.total_tokens).toBe(7 + (usage?.completion_tokens ?? NaN));
  });

  it('streams the very answer that it gets whole', async () => {
    const openai = client(await vllm());
    const whole = await openai.chat.completions.create(hello);
    const streamed = await openai.chat.completions.stream(hello).finalChatCompletion();
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
  });

  it('calls the required tool with arguments that fit its schema, streamed or not', async () => {
    const openai = client(await vllm());
    const ask = { ...hello, tools: [tool('get_weather')], tool_choice: 'required' as const };
    const whole = await openai.chat.completions.create(ask);
    const streamed = await openai.chat.completions.stream(ask).finalChatCompletion();
    for (const { choices } of [whole, streamed]) {
      const call = choices[0]?.message.tool_calls?.[0];
      if (call?.type !== 'function') throw new Error('no function was called');
      expect(call.function.name).toBe('get_weather');
      expect(JSON.parse(call.function.arguments)).toEqual({ city: expect.any(String), days: expect.any(Number) });
      expect(choices[0]?.finish_reason).toBe('tool_calls');
    }
  });

  it('ends an agent loop: the tool that the user names is called once, then the model speaks', async () => {
    let calls = 0;
    const answer = (_arguments: string): string => {
      calls += 1;
      return 'sunny';
    };
    const weather = {
      type: 'function' as const,
      function: {
        name: 'get_weather',
        description: 'the weather',
        parameters: tool('get_weather').function.parameters,
        function: answer,
      },
    };
    const messages = [{ role: 'user' as const, content: 'Use get_weather for Bergen.' }];
    const runner = client(await vllm()).chat.completions.runTools({ model: 'reasoning', messages, tools: [weather] });
    expect(await runner.finalContent()).toMatch(/\w+/);
    expect(calls).toBe(1);
  });

  it('answers in JSON where a schema asks for it', async () => {
    const schema = {
      type: 'object',
      properties: { steps: { type: 'array', items: { $ref: '#/$defs/step' } } },
      $defs: { step: { enum: ['go'] } },
    };
    const format = { type: 'json_schema' as const, json_schema: { name: 'plan', schema } };
    const { choices } = await client(await vllm()).chat.completions.create({ ...hello, response_format: format });
    expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({ steps: ['go'] });
  });

  it('frees the sequence when the client leaves in mid-stream', async () => {
    const server = await vllm({ profile: VOLTA, timeScale: 4 });
    const stream = await client(server).chat.completions.create(
      { ...hello, stream: true },
      { headers: { 'x-sim-output-tokens': '4000' } },
    );
    for await (const chunk of stream) {
      expect(chunk.choices[0]?.delta).toMatchObject({ role: 'assistant' });
      break;
    }
    await until(() => server.stats().aborted === 1 && server.stats().running === 0);
    expect(server.engines[0]?.gauges()).toMatchObject({ running: 0, usedBlocks: 0, aborted: 1 });
    expect(server.requests[0]).toMatchObject({ outcome: 'aborted', method: 'POST' });
  });

  it('frees the sequence of a whole answer nobody waits for', async () => {
    const server = await vllm({ profile: VOLTA, timeScale: 4 });
    const leaving = new AbortController();
    const ask = (signal: AbortSignal) =>
      client(server).chat.completions.create(hello, { headers: { 'x-sim-output-tokens': '4000' }, signal });
    void ask(new AbortController().signal).catch(() => undefined);
    const left = ask(leaving.signal);
    left.catch(() => undefined);
    await until(() => server.stats().running === 2);
    leaving.abort();
    await expect(left).rejects.toThrow('aborted');
    await until(() => server.stats().running === 1);
    expect(server.stats()).toMatchObject({ aborted: 1, peakRunning: 2 });
  });
});

/** Waits for what the engine does by itself. */
async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries += 1) {
    if (tries > 2_000) throw new Error('it never came to be');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
