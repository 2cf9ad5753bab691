import { FAST, SLOTS } from './core/profiles.js';
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

const post = (server: VllmServer, body: unknown, path = '/v1/chat/completions', headers: Record<string, string> = {}) =>
  fetch(server.url + path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers });

/** The members of an answer that the tests look at. */
interface Choice {
  readonly index: number;
  readonly text: string;
  readonly finish_reason: string | null;
  readonly stop_reason: string | null;
  readonly message: { readonly content: string };
  readonly delta: Readonly<Record<string, unknown>>;
}
interface Answer {
  readonly id: string;
  readonly choices: readonly Choice[];
  readonly usage: { readonly prompt_tokens: number };
}

const jsonOf = async (response: Response): Promise<Answer> => JSON.parse(await response.text()) as Answer;

const hello = { model: 'reasoning', messages: [{ role: 'user' as const, content: 'Say something about rivers.' }] };

/** The data of each event, `[DONE]` included. */
async function eventsOf(response: Response): Promise<string[]> {
  const text = await response.text();
  expect(text.endsWith('\n\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n\n')
    .map((frame) => frame.replace(/^data: /, ''));
}

const tool = (name: string) => ({
  type: 'function' as const,
  function: {
    name,
    parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
  },
});

describe('vllm: the wire', () => {
  it('streams the role, then a token a chunk, then usage without choices', async () => {
    const server = await vllm({ reasons: false });
    const response = await post(server, {
      ...hello,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 3,
    });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    const events = await eventsOf(response);
    expect(events.at(-1)).toBe('[DONE]');
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event) as Answer);
    expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
      { role: 'assistant', content: '' },
      { content: expect.stringMatching(/^\S+$/) },
      { content: expect.stringMatching(/^ \S+$/) },
      { content: expect.stringMatching(/^ \S+$/) },
      { content: '' },
      undefined,
    ]);
    expect(chunks.at(-2)?.choices[0]).toMatchObject({ finish_reason: 'length', stop_reason: null });
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { completion_tokens: 3, prompt_tokens: 7, total_tokens: 10 },
    });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  it('streams a named tool without id and type, and ends it with stop', async () => {
    const server = await vllm({ reasons: false });
    const body = {
      ...hello,
      stream: true,
      tools: [tool('look'), tool('find')],
      tool_choice: { type: 'function', function: { name: 'find' } },
    };
    const chunks = (await eventsOf(await post(server, body))).slice(0, -1).map((event) => JSON.parse(event) as Answer);
    expect(chunks[1]?.choices[0]?.delta).toEqual({
      tool_calls: [{ index: 0, function: { name: 'find', arguments: '' } }],
    });
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop');
  });

  it('leaves the model to itself with auto: no tool that nobody named', async () => {
    const server = await vllm();
    const answer = await jsonOf(await post(server, { ...hello, tools: [tool('get_weather')] }));
    expect(answer).toMatchObject({ choices: [{ finish_reason: 'stop', message: { tool_calls: [] } }] });
  });

  it('plays the script of a prompt, a line a turn: a call with just these arguments, then just this text', async () => {
    const server = await vllm();
    const script = { role: 'user', content: 'Hello.\nsim:call look {"city":"Skag"}\nsim:say Done, at last.' };
    const ask = { model: 'reasoning', messages: [script], tools: [tool('find'), tool('look')] };
    const first = await jsonOf(await post(server, ask));
    expect(first.choices).toMatchObject([
      {
        finish_reason: 'tool_calls',
        message: { tool_calls: [{ function: { name: 'look', arguments: '{"city":"Skag"}' } }] },
      },
    ]);
    const calls = [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{"city":"Skag"}' } }];
    const since = [
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'c', content: 'sim:say no' },
    ];
    const second = await jsonOf(await post(server, { ...ask, messages: [script, ...since] }));
    expect(second.choices).toMatchObject([{ finish_reason: 'stop', message: { content: 'Done, at last.' } }]);
  });

  it('plays no call of a tool that it was not given, or while the request decides on the calls', async () => {
    const server = await vllm();
    const messages = [{ role: 'user', content: 'Hello.\nsim:call look {"city":"Skag"}' }];
    const without = { model: 'reasoning', messages, tools: [tool('find')] };
    expect((await jsonOf(await post(server, without))).choices).toMatchObject([{ message: { tool_calls: [] } }]);
    const none = { model: 'reasoning', messages, tools: [tool('look')], tool_choice: 'none' };
    expect((await jsonOf(await post(server, none))).choices).toMatchObject([{ message: { tool_calls: [] } }]);
  });

  it('gives as many choices as asked for, each another text, from one prompt', async () => {
    const server = await vllm();
    const answer = await jsonOf(await post(server, { ...hello, n: 3 }));
    const texts = answer.choices.map((choice) => choice.message.content);
    expect(new Set(texts).size).toBe(3);
    expect(answer.usage.prompt_tokens).toBe(7);
    expect(server.engines[0]?.gauges()).toMatchObject({ submitted: 3, finished: 3 });
  });

  it('ends the text in front of a stop string', async () => {
    const server = await vllm({ reasons: false });
    const free = (await jsonOf(await post(server, hello))).choices[0]?.message.content ?? '';
    const stop = free.slice(20, 26);
    const { choices } = await jsonOf(await post(server, { ...hello, stop: [stop] }));
    expect(choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: stop });
    expect(choices[0]?.message.content).toBe(free.slice(0, free.indexOf(stop)));
  });

  it('takes the sizes that the caller forces', async () => {
    const server = await vllm();
    const headers = { 'x-sim-prompt-tokens': '500', 'x-sim-output-tokens': '12' };
    const { usage } = await jsonOf(await post(server, hello, undefined, headers));
    expect(usage).toMatchObject({ prompt_tokens: 500, completion_tokens: 12 });
  });

  it('tells how much of the prompt it knew already', async () => {
    const server = await vllm();
    const long = { model: 'reasoning', messages: [{ role: 'user', content: 'river '.repeat(200) }] };
    await jsonOf(await post(server, long));
    const { usage } = await jsonOf(await post(server, long));
    expect(usage).toMatchObject({ prompt_tokens: 300, prompt_tokens_details: { cached_tokens: 288 } });
  });

  it('completes text, one or several prompts', async () => {
    const server = await vllm();
    const { choices } = await jsonOf(
      await post(server, { model: 'reasoning', prompt: ['a', 'b'], max_tokens: 4 }, '/v1/completions'),
    );
    expect(choices.map(({ index }) => index)).toEqual([0, 1]);
    expect(choices[0]).toMatchObject({ finish_reason: 'length', text: expect.stringMatching(/\S+( \S+){3}/) });
    const events = await eventsOf(
      await post(server, { model: 'reasoning', prompt: 'a', stream: true, max_tokens: 2 }, '/v1/completions'),
    );
    expect(events).toHaveLength(4);
    expect(JSON.parse(events[0] ?? '')).toMatchObject({ object: 'text_completion', choices: [{ index: 0 }] });
  });

  it('counts tokens without running anything', async () => {
    const server = await vllm();
    expect(await jsonOf(await post(server, hello, '/tokenize'))).toMatchObject({ count: 7, tokens: expect.any(Array) });
    expect(server.engines[0]?.gauges().submitted).toBe(0);
  });

  it.each([
    ['unknown model', { ...hello, model: 'gpt' }, 404, 'The model `gpt` does not exist.'],
    ['no JSON', '{"model":', 400, 'JSON decode error'],
    ['no messages', { model: 'reasoning' }, 400, 'Field required: messages'],
    ['empty tools', { ...hello, tools: [] }, 400, 'tools must not be an empty array'],
    ['tool_choice alone', { ...hello, tool_choice: 'auto' }, 400, 'When using `tool_choice`, `tools` must be set.'],
    ['over the context', { ...hello, max_tokens: 16_384 }, 400, "This model's maximum context length is 16384 tokens."],
    [
      'replayed arguments that are no object',
      { ...hello, messages: [{ role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: '{"a":' } }] }] },
      400,
      'are not a JSON object',
    ],
  ])('refuses as vLLM does: %s', async (_, body, status, message) => {
    const response = await post(await vllm({ maxModelLen: 16_384 }), body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining(message), code: status } });
  });

  it('knows the older shapes of errors', async () => {
    const flat = await post(await vllm({ errorStyle: 'flat' }), { ...hello, model: 'x' });
    expect(await flat.json()).toMatchObject({ object: 'error', type: 'NotFoundError', code: 404 });
    const fastapi = await post(await vllm({ errorStyle: 'fastapi' }), { model: 'reasoning' });
    expect([fastapi.status, await fastapi.json()]).toMatchObject([422, { detail: [{ loc: ['body', 'messages'] }] }]);
  });

  it('has its own 404 and 405', async () => {
    const server = await vllm();
    const [unknown, method] = await Promise.all([
      fetch(`${server.url}/v1/nothing`),
      fetch(`${server.url}/v1/chat/completions`),
    ]);
    expect([unknown.status, await unknown.json()]).toEqual([404, { detail: 'Not Found' }]);
    expect([method.status, method.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('turns away what would make the queue too long', async () => {
    const response = await post(await vllm({ maxQueuedTokens: 6 }), hello);
    expect(response.status).toBe(503);
  });
});

describe('vllm: the gauges', () => {
  it('never runs more than its slots, and says who waits', async () => {
    const server = await vllm({ profile: SLOTS, timeScale: 2 });
    const answers = Array.from({ length: 6 }, () => post(server, hello));
    await until(() => server.stats().running === 4 && server.stats().waiting === 2);
    const page = await (await fetch(`${server.url}/metrics`)).text();
    expect(page).toContain('vllm:num_requests_running{engine="0",model_name="reasoning"} 4.0\n');
    expect(page).toContain('vllm:num_requests_waiting{engine="0",model_name="reasoning"} 2.0\n');
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(server.stats()).toMatchObject({ peakRunning: 4, finished: 6, running: 0, polls: 1 });
  });

  it('spreads over its engine cores and shows each', async () => {
    const server = await vllm({ profile: SLOTS, timeScale: 2, engines: 2, pidSeries: true });
    const answers = Array.from({ length: 4 }, () => post(server, hello));
    await until(() => server.stats().running === 4);
    const page = await (await fetch(`${server.url}/metrics`)).text();
    expect(page).toContain('vllm:num_requests_running{engine="1",model_name="reasoning"} 2.0\n');
    expect(page).toMatch(/vllm:kv_cache_usage_perc\{engine="0",model_name="reasoning",pid="271"\} 0\.0\n/);
    expect(page).toMatch(/vllm:cache_config_info\{block_size="16",[^}]*engine="1",[^}]*num_gpu_blocks="65536"/);
    await Promise.all(answers);
  });

  it('speaks the names of V0', async () => {
    const page = await (await fetch(`${(await vllm({ metricNames: 'v0' })).url}/metrics`)).text();
    expect(page).toContain('vllm:gpu_cache_usage_perc{model_name="reasoning"} 0.0\n');
    expect(page).not.toContain('engine=');
  });
});

/** Waits for what the engine does by itself. */
async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; !holds(); tries += 1) {
    if (tries > 2_000) throw new Error('it never came to be');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
