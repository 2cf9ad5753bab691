import { RoutingTable } from '../../../../common/config/routing-table.js';
import type { OperationsConfig } from '../../../../common/config/operations.config.js';
import type { EngineKind, OwnDialect, UpstreamConfig } from '../../../../common/config/upstreams.config.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { type PreparedResponse, prepareResponse } from './prepare-request.js';

function tableOf(engine: EngineKind, dialects?: readonly OwnDialect[]): RoutingTable {
  const upstream = { name: 'engine', url: 'http://engine.test:1', engine, ...(dialects && { dialects }) };
  return new RoutingTable({
    upstreams: [upstream as UpstreamConfig],
    models: [
      { id: 'demo', upstream: 'engine', operations: ['chat'], contextLength: 8192 },
      { id: 'embed', upstream: 'engine', operations: ['embeddings'], contextLength: 512 },
    ],
    operations: {} as OperationsConfig,
    aliases: [],
  });
}

const base = { model: 'demo', input: 'hi' };

function prepared(body: object | string, engine: EngineKind = 'vllm'): PreparedResponse {
  const text = typeof body === 'string' ? body : JSON.stringify({ ...base, ...body });
  return prepareResponse(Buffer.from(text), tableOf(engine));
}

const sent = (body: object | string, engine?: EngineKind): Record<string, unknown> =>
  JSON.parse(prepared(body, engine).body.toString()) as Record<string, unknown>;
const messagesOf = (input: unknown, more: object = {}): unknown => sent({ input, ...more })['messages'];

function refusal(body: object | string): GatewayProblem {
  try {
    prepared(body);
  } catch (error) {
    if (error instanceof GatewayProblem) return error;
    throw error;
  }
  throw new Error('the body was taken');
}

const USER = { role: 'user', content: 'hi' };
const user = (content: unknown) => ({ role: 'user', content });
const inputText = (text: string) => ({ type: 'input_text', text });
const call = (id: string, args = '{}') => ({ type: 'function_call', call_id: id, name: 'tide', arguments: args });
const output = (id: string, said: unknown) => ({ type: 'function_call_output', call_id: id, output: said });
const called = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'tide', arguments: args } });
const tide = { type: 'function', name: 'tide', parameters: { type: 'object' } };

describe('the members of a request', () => {
  it('are the engine’s, or left out', () => {
    const body = {
      temperature: 0.5,
      top_p: null,
      store: false,
      include: ['reasoning.encrypted_content'],
      metadata: { a: 'b' },
      client_metadata: { turn: '1' },
      prompt_cache_key: 'k',
      safety_identifier: 's',
      service_tier: 'auto',
      truncation: 'auto',
      previous_response_id: null,
      conversation: null,
      prompt: null,
      background: false,
      user: 'u',
      text: { verbosity: 'low' },
      reasoning: { summary: 'auto' },
      stream_options: { include_obfuscation: false },
      parallel_tool_calls: true,
      tool_choice: 'auto',
      a_member_of_next_year: [1],
    };
    expect(sent(body)).toEqual({ model: 'demo', messages: [USER], temperature: 0.5 });
  });

  it('have other names there', () => {
    expect(sent({ max_output_tokens: 77, reasoning: { effort: 'low' }, stream: true })).toEqual({
      model: 'demo',
      messages: [USER],
      max_tokens: 77,
      reasoning_effort: 'low',
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('tell the pool what it has to know', () => {
    const image = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(5000)}` };
    const { request, native } = prepared({ stream: true, max_output_tokens: 64, input: [user([image])] });
    expect(native).toBe(false);
    expect(request).toMatchObject({
      operation: 'chat',
      model: 'demo',
      stream: true,
      maxOutputTokens: 64,
      choices: 1,
      images: 1,
    });
    expect(request.promptBytes).toBeLessThan(1000);
  });

  it.each<[EngineKind, object]>([
    ['vllm', { reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: false } }],
    ['ollama', { reasoning_effort: 'none' }],
  ])('ask for no reasoning in the words of %s', (engine, expected) => {
    expect(sent({ reasoning: { effort: 'none' } }, engine)).toMatchObject(expected);
  });

  it('ask for an answer in a form, whose numbers keep their digits', () => {
    const schema = '{"type":"number","maximum":12345678901234567890}';
    const format = `{"type":"json_schema","name":"n","description":"d","strict":true,"schema":${schema}}`;
    const body = `{"model":"demo","input":"hi","text":{"format":${format}}}`;
    expect(prepared(body).body.toString()).toContain(
      `"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","schema":${schema},"strict":true}}`,
    );
    expect(sent({ text: { format: { type: 'json_object' } } })['response_format']).toEqual({ type: 'json_object' });
    expect(sent({ text: { format: { type: 'text' } } })).not.toHaveProperty('response_format');
  });
});

describe('the conversation', () => {
  it('begins with the instructions and what the developer says at its head', () => {
    const input = [
      { type: 'message', role: 'developer', content: [inputText('b'), inputText('c')] },
      { role: 'system', content: 'd' },
      user('hi'),
    ];
    expect(messagesOf(input, { instructions: 'a' })).toEqual([{ role: 'system', content: 'a\n\nb\n\nc\n\nd' }, USER]);
  });

  it('hears a developer who speaks later as a user, since no system message may come then', () => {
    const input = [user('hi'), { role: 'assistant', content: 'yes' }, { role: 'developer', content: 'be brief' }];
    expect(messagesOf(input)).toEqual([
      USER,
      { role: 'assistant', content: 'yes' },
      { role: 'user', content: 'be brief' },
    ]);
  });

  it('has calls and their results by call_id, in one turn of the assistant', () => {
    const input = [
      user('hi'),
      { type: 'reasoning', id: 'r', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
      {
        type: 'message',
        role: 'assistant',
        id: 'm',
        content: [{ type: 'output_text', text: 'wait', annotations: [] }],
      },
      { ...call('c1', '{"n": 1.10}'), id: 'fc_1', status: 'completed' },
      call('c2'),
      output('c1', '2 m'),
      output('c2', [inputText('a'), inputText('b')]),
    ];
    expect(messagesOf(input)).toEqual([
      USER,
      {
        role: 'assistant',
        content: 'wait',
        reasoning_content: 'hm',
        tool_calls: [called('c1', '{"n": 1.10}'), called('c2')],
      },
      { role: 'tool', tool_call_id: 'c1', content: '2 m' },
      { role: 'tool', tool_call_id: 'c2', content: 'a\nb' },
    ]);
  });

  it.each([
    ['', '{}'],
    ['no json', '{"raw_arguments":"no json"}'],
    ['[1]', '{"raw_arguments":"[1]"}'],
  ])('gives engines an object where replayed arguments are none: %j', (given, expected) => {
    expect(messagesOf([user('hi'), call('c', given), output('c', '')])).toMatchObject([
      USER,
      { tool_calls: [called('c', expected)] },
      { role: 'tool', content: '' },
    ]);
  });

  it('leaves out reasoning that is encrypted or summed up', () => {
    const summary = [{ type: 'summary_text', text: 'Thinking it over.' }];
    const input = [user('hi'), { type: 'reasoning', id: 'r', summary, content: null, encrypted_content: 'ZW5j' }];
    expect(messagesOf(input)).toEqual([USER]);
  });

  it('puts several messages of one turn together', () => {
    const input = [user('hi'), { role: 'assistant', content: 'a' }, { role: 'assistant', content: 'b' }, user('?')];
    expect(messagesOf(input)).toMatchObject([USER, { role: 'assistant', content: 'a\nb' }, { content: '?' }]);
    expect(messagesOf([user('hi'), { role: 'assistant', content: [] }])).toEqual([USER]);
  });

  it('does not ask an engine to go on with a last message of the assistant', () => {
    const body = sent({ input: [user('hi'), { role: 'assistant', content: 'a' }] });
    expect(Object.keys(body)).toEqual(['model', 'messages']);
  });

  it('shows images, those of a result too, and says a refusal again', () => {
    const image = { type: 'input_image', image_url: 'https://pics.example/a.png', detail: 'auto' };
    const input = [
      user([inputText('look'), image]),
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      call('c'),
      output('c', [image]),
    ];
    const shown = { type: 'image_url', image_url: { url: 'https://pics.example/a.png' } };
    expect(messagesOf(input)).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'look' }, shown] },
      { role: 'assistant', content: 'No.', tool_calls: [called('c')] },
      { role: 'tool', tool_call_id: 'c', content: '' },
      { role: 'user', content: [{ type: 'text', text: '[images of tool result c]' }, shown] },
    ]);
  });

  it('keeps calls of free text, as calls that bring it', () => {
    const input = [
      user('hi'),
      { type: 'custom_tool_call', call_id: 'c', name: 'apply_patch', input: '*** Begin' },
      { type: 'custom_tool_call_output', call_id: 'c', output: 'done' },
    ];
    expect(messagesOf(input)).toEqual([
      USER,
      {
        role: 'assistant',
        tool_calls: [
          { id: 'c', type: 'function', function: { name: 'apply_patch', arguments: '{"input":"*** Begin"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c', content: 'done' },
    ]);
  });

  it('leaves out what a service has noted of its own tools', () => {
    expect(messagesOf([user('hi'), { type: 'web_search_call', id: 'ws', status: 'completed' }])).toEqual([USER]);
  });
});

describe('tools', () => {
  const toolsOf = (tools: unknown[], more: object = {}) => sent({ tools, ...more });
  const namespace = { type: 'namespace', name: 'agents', tools: [{ ...tide, name: 'spawn' }] };
  const custom = { type: 'custom', name: 'apply_patch', format: { type: 'grammar' } };
  const search = { type: 'web_search' };
  const nested = { type: 'function', function: { name: 'tide', parameters: { type: 'object' } } };

  it('are nested, and keep what they say', () => {
    const parameters = '{"type":"object","maximum":12345678901234567890}';
    const tool = `{"type":"function","name":"tide","description":"d","strict":false,"parameters":${parameters}}`;
    const { body } = prepared(`{"model":"demo","input":"hi","tools":[${tool}],"parallel_tool_calls":false}`);
    expect(body.toString()).toContain(
      `"tools":[{"type":"function","function":{"name":"tide","description":"d","parameters":${parameters},"strict":false}}],"parallel_tool_calls":false`,
    );
    expect(toolsOf([{ type: 'function', name: 'a', parameters: null, strict: null, description: null }])).toMatchObject(
      {
        tools: [{ type: 'function', function: { name: 'a' } }],
      },
    );
  });

  it('of other kinds are left out, and with the last of them all that is said of tools', () => {
    expect(toolsOf([namespace, tide, custom, search])['tools']).toEqual([nested]);
    const none = { tool_choice: 'auto', parallel_tool_calls: false };
    expect(Object.keys(toolsOf([namespace, custom, search, { type: 'of_next_year' }], none))).toEqual([
      'model',
      'messages',
    ]);
    expect(Object.keys(toolsOf([], none))).toEqual(['model', 'messages']);
  });

  it.each<[unknown, unknown]>([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [
      { type: 'function', name: 'tide' },
      { type: 'function', function: { name: 'tide' } },
    ],
  ])('are chosen by %j', (choice, expected) => {
    expect(toolsOf([tide], { tool_choice: choice })['tool_choice']).toEqual(expected);
    expect(toolsOf([tide], { tool_choice: null })).not.toHaveProperty('tool_choice');
  });

  it('are only those that are allowed', () => {
    const allowed = (names: string[], mode = 'required') => ({
      type: 'allowed_tools',
      mode,
      tools: names.map((name) => ({ type: 'function', name })),
    });
    const choice = { tool_choice: allowed(['tide']) };
    expect(toolsOf([{ ...tide, name: 'wind' }, tide], choice)).toMatchObject({
      tools: [nested],
      tool_choice: 'required',
    });
    expect(refusal({ tools: [tide], tool_choice: allowed(['wind']) }).options.param).toBe('tool_choice.tools[0].name');
    expect(refusal({ tools: [tide], tool_choice: allowed(['tide'], 'any') }).options.param).toBe('tool_choice.mode');
  });

  it.each<[string, object, string[]]>([
    ['a namespace', { type: 'function', name: 'agents' }, ['tool_choice.name', '"agents"', '"namespace"']],
    ['a tool of its own kind', { type: 'custom', name: 'apply_patch' }, ['tool_choice', '"apply_patch"', '"custom"']],
    ['a hosted tool', { type: 'web_search' }, ['tool_choice', '"web_search"']],
    ['nothing', { type: 'function', name: 'moon' }, ['tool_choice.name', '"moon"', 'not among the tools']],
    ['no kind', { name: 'tide' }, ['tool_choice.type']],
  ])('are not chosen by naming %s', (_, choice, [param, ...said]) => {
    const problem = refusal({ tools: [namespace, custom, search, tide], tool_choice: choice });
    expect(problem.code).toBe('invalid-request');
    expect(problem.options.param).toBe(param);
    for (const word of said) expect(problem.options.detail).toContain(word);
  });

  it('are not chosen by naming a hosted one where there is no other', () => {
    const problem = refusal({ tools: [search], tool_choice: { type: 'web_search' } });
    expect(problem.options.detail).toContain('"web_search"');
  });
});

describe('what is refused', () => {
  it.each<[string, object]>([
    ['store', { store: true }],
    ['store', { store: 'yes' }],
    ['background', { background: true }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['prompt', { prompt: { id: 'pmpt_1' } }],
    ['stream', { stream: 'yes' }],
    ['max_output_tokens', { max_output_tokens: 0 }],
    ['temperature', { temperature: 'hot' }],
    ['instructions', { instructions: ['a'] }],
    ['parallel_tool_calls', { parallel_tool_calls: 'no' }],
    ['reasoning', { reasoning: 'high' }],
    ['reasoning.effort', { reasoning: { effort: 3 } }],
    ['text', { text: 'json' }],
    ['text.format.type', { text: { format: { type: 'grammar' } } }],
    ['text.format.name', { text: { format: { type: 'json_schema', schema: {} } } }],
    ['text.format.schema', { text: { format: { type: 'json_schema', name: 'n' } } }],
    ['tools', { tools: {} }],
    ['tools[0]', { tools: ['tide'] }],
    ['tools[0].type', { tools: [{ name: 'tide' }] }],
    ['tools[0].name', { tools: [{ type: 'function' }] }],
    ['tools[0].parameters', { tools: [{ ...tide, parameters: 'none' }] }],
    ['tool_choice', { tool_choice: 'any' }],
    ['tool_choice', { tool_choice: 1 }],
    ['input', { input: null }],
    ['input', { input: 7 }],
    ['input', { input: [] }],
    ['input[1]', { input: [user('a'), 'b'] }],
    ['input[0].type', { input: [{ content: 'a' }] }],
    ['input[0].type', { input: [{ type: 'computer_call_output', call_id: 'c' }] }],
    ['input[0]', { input: [{ type: 'item_reference', id: 'i' }] }],
    ['input[0].role', { input: [{ role: 'tool', content: 'a' }] }],
    ['input[0].content', { input: [{ role: 'user' }] }],
    ['input[0].content[0]', { input: [user(['a'])] }],
    ['input[0].content[0].text', { input: [user([{ type: 'input_text' }])] }],
    ['input[0].content[1].type', { input: [user([inputText('a'), { type: 'input_file', file_data: 'x' }])] }],
    ['input[0].content[0].type', { input: [user([{ type: 'input_audio', input_audio: {} }])] }],
    ['input[0].content[0].file_id', { input: [user([{ type: 'input_image', file_id: 'f' }])] }],
    ['input[0].content[0].image_url', { input: [user([{ type: 'input_image' }])] }],
    ['input[0].content[0].type', { input: [{ role: 'assistant', content: [{ type: 'input_image' }] }] }],
    ['input[0].call_id', { input: [{ ...call(''), call_id: undefined }] }],
    ['input[0].name', { input: [{ ...call('c'), name: '' }] }],
    ['input[0].arguments', { input: [{ ...call('c'), arguments: {} }] }],
    ['input[0].output', { input: [output('c', undefined)] }],
    ['input[0].output[0].type', { input: [output('c', [{ type: 'input_file', file_id: 'f' }])] }],
    ['input[0].input', { input: [{ type: 'custom_tool_call', call_id: 'c', name: 'n' }] }],
  ])('names its path: %s in %j', (path, body) => {
    const problem = refusal(body);
    expect([problem.code, problem.options.param]).toEqual(['invalid-request', path]);
    expect(problem.options.detail).toMatch(new RegExp(`^${path.replace(/[.[\]]/g, '\\$&')} .+\\.$`));
  });

  it('tells what to do instead, where something would have to be kept', () => {
    expect(refusal({ store: true }).options.detail).toBe(
      'store is true, and this gateway keeps no responses: send false, or leave it out.',
    );
    expect(refusal({ previous_response_id: 'resp_1' }).options.detail).toBe(
      'previous_response_id is not supported, since this gateway keeps no conversations: send all of it in input.',
    );
  });

  it('includes models that are not there, or do something else', () => {
    expect(refusal({ model: 'nobody' }).code).toBe('unknown-model');
    expect(refusal({ model: 'embed' }).code).toBe('unsupported-operation');
    expect(refusal('{"model":"demo","input":').code).toBe('invalid-body');
  });
});

describe('an engine that speaks the dialect', () => {
  const table = tableOf('vllm', ['responses']);

  it('gets the body as it is', () => {
    const body = Buffer.from(
      ' {"model":"demo","input":[{"type":"of_next_year"}],"stream":true,"max_output_tokens":5} ',
    );
    const { native, body: same, request } = prepareResponse(body, table);
    expect(native).toBe(true);
    expect(same).toBe(body);
    expect(request).toMatchObject({ stream: true, maxOutputTokens: 5, operation: 'chat' });
  });

  it('gets none that it would have to keep something for', () => {
    const body = (more: object) => Buffer.from(JSON.stringify({ ...base, ...more }));
    for (const more of [{ store: true }, { background: true }, { previous_response_id: 'r' }])
      expect(() => prepareResponse(body(more), table)).toThrow(GatewayProblem);
  });
});

describe('what the response repeats', () => {
  const settings = (body: object): unknown => JSON.parse(`{${prepared(body).settings}}`);

  it('is said in full where the request says nothing', () => {
    expect(settings({})).toEqual({
      background: false,
      instructions: null,
      max_output_tokens: null,
      metadata: {},
      parallel_tool_calls: true,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      store: false,
      temperature: null,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_p: null,
      truncation: 'disabled',
    });
  });

  it('is what the client said, those tools included that the engine is not given', () => {
    const said = {
      instructions: 'be brief',
      max_output_tokens: 9,
      metadata: { a: 'b' },
      parallel_tool_calls: false,
      reasoning: { effort: 'low', summary: 'auto' },
      temperature: 0.5,
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      tool_choice: 'required',
      tools: [tide, { type: 'web_search' }],
      top_p: 0.9,
    };
    expect(settings(said)).toMatchObject(said);
  });

  it('stays on one line of an event, however the body was written', () => {
    const body = '{\n "model": "demo",\n "input": "hi",\n "tools": [\n  {\n "type": "function", "name": "a"}]}';
    expect(prepared(body).settings).not.toMatch(/[\r\n]/);
  });
});
