import { RoutingTable } from '../../../../common/config/routing-table.js';
import type { EngineKind, OwnDialect, UpstreamConfig } from '../../../../common/config/upstreams.config.js';
import type { OperationsConfig } from '../../../../common/config/operations.config.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { prepareMessages, type PreparedMessages } from './prepare-request.js';

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

const user = { role: 'user', content: 'hi' };
const base = { model: 'demo', max_tokens: 64, messages: [user] };

function prepared(
  body: object | string,
  engine: EngineKind = 'vllm',
  purpose: 'answer' | 'count' = 'answer',
): PreparedMessages {
  const text = typeof body === 'string' ? body : JSON.stringify({ ...base, ...body });
  return prepareMessages(Buffer.from(text), tableOf(engine), purpose);
}

const sent = (body: object | string, engine: EngineKind = 'vllm'): Record<string, unknown> =>
  JSON.parse(prepared(body, engine).body.toString()) as Record<string, unknown>;
const messagesOf = (messages: readonly unknown[]): unknown => sent({ messages })['messages'];

function refusal(body: object | string): GatewayProblem {
  try {
    prepared(body);
  } catch (error) {
    if (error instanceof GatewayProblem) return error;
    throw error;
  }
  throw new Error('the body was taken');
}

const PNG = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const tool = { name: 'tide', description: 'd', input_schema: { type: 'object' } };
const use = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'tide', input });
const result = (id: string, more: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...more });

describe('the members of a request', () => {
  it('are the engine’s, or left out', () => {
    const body = {
      temperature: 0.5,
      top_p: null,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
      cache_control: { type: 'ephemeral' },
      service_tier: 'auto',
      container: null,
      context_management: {},
      a_member_of_next_year: [1],
      n: 'not ours',
    };
    expect(sent(body)).toEqual({
      model: 'demo',
      messages: [user],
      max_tokens: 64,
      temperature: 0.5,
      top_k: 5,
      stop: ['END'],
    });
    expect(sent({ stream: true, stop_sequences: [] })).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('tell the pool what it has to know', () => {
    const { request, native } = prepared({ stream: true });
    expect(native).toBe(false);
    expect(request).toMatchObject({
      operation: 'chat',
      model: 'demo',
      stream: true,
      maxOutputTokens: 64,
      choices: 1,
      images: 0,
    });
    expect(request.promptBytes).toBeGreaterThan(20);
  });

  it.each<[EngineKind, object]>([
    ['vllm', { chat_template_kwargs: { enable_thinking: false } }],
    ['llamacpp', { chat_template_kwargs: { enable_thinking: false } }],
    ['ollama', { reasoning_effort: 'none' }],
    ['openai', { reasoning_effort: 'none' }],
  ])('switch thinking off in the words of %s', (engine, expected) => {
    expect(sent({ thinking: { type: 'disabled' } }, engine)).toMatchObject(expected);
  });

  it.each([{ type: 'enabled', budget_tokens: 1024 }, { type: 'adaptive' }, { type: 'between_tools' }])(
    'leave thinking alone where it is on: %j',
    (thinking) => {
      expect(Object.keys(sent({ thinking }))).toEqual(['model', 'messages', 'max_tokens']);
      expect(prepared({ thinking }).thinking).toBe('shown');
      expect(prepared({ thinking: { ...thinking, display: 'omitted' } }).thinking).toBe('omitted');
    },
  );

  it.each([
    ['low', 'low'],
    ['high', 'high'],
    ['max', 'high'],
  ])('ask for effort %s as %s', (effort, expected) => {
    expect(sent({ output_config: { effort } })['reasoning_effort']).toBe(expected);
  });

  it('ask for an answer in a schema, whose numbers keep their digits', () => {
    const schema = '{"type":"object","properties":{"n":{"maximum":12345678901234567890}}}';
    const format = `{"type":"json_schema","schema":${schema}}`;
    for (const member of [`"output_config":{"format":${format}}`, `"output_format":${format}`]) {
      const body = prepared(
        `{"model":"demo","max_tokens":1,"messages":[{"role":"user","content":"x"}],${member}}`,
      ).body;
      expect(body.toString()).toContain(
        `"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":${schema}}}`,
      );
    }
  });
});

describe('the conversation', () => {
  it('begins with all that the system says before anyone else, and goes on with it as a user', () => {
    const messages = [
      { role: 'system', content: 'two' },
      { role: 'user', content: 'a' },
      { role: 'system', content: [{ type: 'text', text: 'b' }] },
      { role: 'assistant', content: 'c' },
      { role: 'system', content: 'd' },
    ];
    expect(sent({ system: [{ type: 'text', text: 'one' }], messages })['messages']).toEqual([
      { role: 'system', content: 'one\n\ntwo' },
      { role: 'user', content: 'a\nb' },
      { role: 'assistant', content: 'c' },
      { role: 'user', content: 'd' },
    ]);
    expect(sent({ system: '' })['messages']).toEqual([user]);
  });

  it('has one message for neighbours of one role', () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'user', content: [{ type: 'text', text: 'b' }] },
      { role: 'assistant', content: [use('t1')] },
      { role: 'assistant', content: 'c' },
      { role: 'user', content: [{ type: 'text', text: 'd' }] },
      { role: 'user', content: [result('t1', { content: 'r' })] },
    ];
    expect(messagesOf(messages)).toMatchObject([
      { role: 'user', content: 'a\nb' },
      { role: 'assistant', content: 'c', tool_calls: [{ id: 't1' }] },
      { role: 'tool', tool_call_id: 't1', content: 'r' },
      { role: 'user', content: 'd' },
    ]);
  });

  it('hands thinking back to the engine that thought it, and never as text', () => {
    const content = [
      { type: 'thinking', thinking: 'a', signature: 's' },
      { type: 'redacted_thinking', data: 'opaque' },
      { type: 'text', text: 'b' },
      { type: 'thinking', thinking: 'c', signature: 's' },
    ];
    expect(messagesOf([user, { role: 'assistant', content }, user])).toEqual([
      user,
      { role: 'assistant', content: 'b', reasoning_content: 'ac' },
      user,
    ]);
  });

  it('has no content where a turn only calls, and an empty one where it does nothing', () => {
    const turn = (content: unknown) => messagesOf([user, { role: 'assistant', content }, user]);
    expect(turn([use('t1')])).toMatchObject([user, { role: 'assistant', tool_calls: [{}] }, user]);
    expect(JSON.stringify(turn([use('t1')]))).not.toContain('"content":null');
    expect(turn([])).toMatchObject([user, { role: 'assistant', content: '' }, user]);
  });

  it('gives a tool’s input the digits and the order that it came with', () => {
    const input = '{ "b": 1.10, "a": 12345678901234567890, "text": "\\u00e9" }';
    const first = '{"role":"user","content":"x"}';
    const block = `{"type":"tool_use","id":"t","name":"n","input":${input}}`;
    const last = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}';
    const body = `{"max_tokens":1,"messages":[${first},{"content":[{"type":"text","text":"t"},${block}],"role":"assistant"},${last}],"model":"demo"}`;
    expect(sent(body)['messages']).toMatchObject([
      {},
      { tool_calls: [{ function: { arguments: input } }] },
      { content: '' },
    ]);
  });

  it('shows what a tool showed: text to the tool’s message, images behind it', () => {
    const content = [
      { type: 'text', text: 'a' },
      { type: 'image', source: PNG },
      { type: 'tool_reference', tool_name: 'tide' },
    ];
    const turn = {
      role: 'user',
      content: [result('t1', { content }), result('t2', { content: 'no', is_error: true }), result('t3')],
    };
    expect(messagesOf([turn])).toEqual([
      { role: 'tool', tool_call_id: 't1', content: 'a\ntide' },
      { role: 'tool', tool_call_id: 't2', content: 'Error: no' },
      { role: 'tool', tool_call_id: 't3', content: '' },
      {
        role: 'user',
        content: [
          { type: 'text', text: expect.stringContaining('t1') },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
      },
    ]);
  });

  it('puts documents and search results into words', () => {
    const content = [
      { type: 'document', title: 'T', context: 'C', source: { type: 'text', media_type: 'text/plain', data: 'body' } },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'part' }] } },
      { type: 'document', source: { type: 'content', content: 'plain' } },
      { type: 'search_result', source: 'https://a.test', title: 'Found', content: [{ type: 'text', text: 'it' }] },
    ];
    const text = 'Document: T\nContext: C\nbody\npart\nplain\nSearch result: Found\nSource: https://a.test\nit';
    expect(messagesOf([{ role: 'user', content }])).toEqual([{ role: 'user', content: text }]);
  });

  it('counts images by their number, not by their bytes', () => {
    const image = { type: 'image', source: { ...PNG, data: 'A'.repeat(100_000) } };
    const { request } = prepared({ messages: [{ role: 'user', content: [image, { type: 'text', text: 'what?' }] }] });
    expect(request.images).toBe(1);
    expect(request.promptBytes).toBeLessThan(1000);
  });

  it.each<[EngineKind, boolean]>([
    ['vllm', true],
    ['sglang', true],
    ['ollama', false],
    ['openai', false],
  ])('goes on with a last assistant turn: %s has to be told: %s', (engine, told) => {
    const messages = [user, { role: 'assistant', content: 'three,' }];
    const flags = told ? { continue_final_message: true, add_generation_prompt: false } : {};
    expect(sent({ messages }, engine)).toEqual({ model: 'demo', max_tokens: 64, messages, ...flags });
    expect(sent({ messages: [user, { role: 'assistant', content: [use('t')] }] }, engine)).not.toHaveProperty(
      'continue_final_message',
    );
  });
});

describe('tools', () => {
  const vendor = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 };
  const chosen = (tool_choice: object) => sent({ tools: [tool], tool_choice });

  it('are functions, whose schemas keep their digits', () => {
    const schema = '{"type":"object","properties":{"n":{"maximum":1.0e400}}}';
    const body = `{"model":"demo","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"a","input_schema":${schema},"strict":true,"cache_control":{},"eager_input_streaming":true}]}`;
    expect(prepared(body).body.toString()).toContain(
      `"tools":[{"type":"function","function":{"name":"a","parameters":${schema},"strict":true}}]`,
    );
  });

  it('that the vendor runs are left out, with the choice where none is left', () => {
    expect(sent({ tools: [vendor, { ...tool, type: 'custom' }], tool_choice: { type: 'any' } })).toMatchObject({
      tools: [{ function: { name: 'tide' } }],
      tool_choice: 'required',
    });
    for (const tools of [[vendor], []]) {
      const body = sent({ tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } });
      expect(Object.keys(body)).toEqual(['model', 'messages', 'max_tokens']);
    }
    expect(sent({ tools: [vendor], tool_choice: { type: 'tool', name: 'web_search' } })).not.toHaveProperty(
      'tool_choice',
    );
  });

  it.each<[object, unknown]>([
    [{ type: 'auto' }, 'auto'],
    [{ type: 'any' }, 'required'],
    [{ type: 'none' }, 'none'],
    [
      { type: 'tool', name: 'tide' },
      { type: 'function', function: { name: 'tide' } },
    ],
  ])('are chosen as %j says', (choice, expected) => {
    expect(chosen(choice)['tool_choice']).toEqual(expected);
    expect(chosen(choice)).not.toHaveProperty('parallel_tool_calls');
    expect(chosen({ ...choice, disable_parallel_tool_use: true })['parallel_tool_calls']).toBe(false);
  });

  it('are not chosen where nothing is said of that', () => {
    expect(sent({ tools: [tool] })).not.toHaveProperty('tool_choice');
  });
});

describe('what cannot be passed on is refused, with its place', () => {
  const content = (...blocks: unknown[]) => ({ messages: [{ role: 'user', content: blocks }] });
  const said = (...blocks: unknown[]) => ({ messages: [user, { role: 'assistant', content: blocks }] });
  const text = { type: 'text', text: 'x' };

  it.each<[string, object]>([
    ['max_tokens', { max_tokens: undefined }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: '64' }],
    ['stream', { stream: 'yes' }],
    ['messages', { messages: undefined }],
    ['messages', { messages: [] }],
    ['messages[0]', { messages: ['hi'] }],
    ['messages[0].role', { messages: [{ role: 'tool', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content[1]', content(text, 'x')],
    ['messages[0].content[0].type', content({ text: 'x' })],
    ['messages[0].content[1].text', content(text, { type: 'text' })],
    ['messages[0].content[1].type', content(text, { type: 'container_upload', file_id: 'f' })],
    ['messages[0].content[0].source', content({ type: 'image' })],
    ['messages[0].content[0].source.type', content({ type: 'image', source: { type: 'file', file_id: 'f' } })],
    [
      'messages[0].content[0].source.data',
      content({ type: 'image', source: { type: 'base64', media_type: 'image/png' } }),
    ],
    [
      'messages[0].content[1].source.type',
      content(text, { type: 'document', source: { ...PNG, media_type: 'application/pdf' } }),
    ],
    [
      'messages[0].content[0].source.type',
      content({ type: 'document', source: { type: 'url', url: 'https://a.test/b.pdf' } }),
    ],
    ['messages[0].content[0].content[0].type', content(result('t', { content: [{ type: 'audio' }] }))],
    [
      'messages[0].content[0].content[0].source.type',
      content(result('t', { content: [{ type: 'image', source: { type: 'file' } }] })),
    ],
    ['messages[0].content[0].tool_use_id', content({ type: 'tool_result' })],
    ['messages[1].content[0].type', said({ type: 'server_tool_use', id: 's', name: 'web_search', input: {} })],
    ['messages[1].content[0].type', said({ type: 'image', source: PNG })],
    ['messages[1].content[0].input', said(use('t', 'text'))],
    ['messages[1].content[0].id', said({ ...use('t'), id: 7 })],
    ['system', { system: 7 }],
    ['system[0].type', { system: [{ type: 'image', source: PNG }] }],
    ['tools', { tools: {} }],
    ['tools[1].input_schema', { tools: [tool, { name: 'a' }] }],
    ['tools[0].name', { tools: [{ ...tool, name: '' }] }],
    ['tool_choice.type', { tools: [tool], tool_choice: { type: 'some' } }],
    ['tool_choice.name', { tools: [tool], tool_choice: { type: 'tool', name: 'web_search' } }],
    ['stop_sequences[0]', { stop_sequences: [7] }],
    ['temperature', { temperature: 'warm' }],
    ['thinking', { thinking: true }],
    ['output_config.format.type', { output_config: { format: { type: 'text' } } }],
    ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
  ])('%s', (path, body) => {
    const { code, options } = refusal(body);
    expect([code, options.param]).toEqual(['invalid-request', path]);
    expect(options.detail.startsWith(path)).toBe(true);
  });

  it('a thread, in the words that official clients look for', () => {
    const { code, options } = refusal({ thread: { type: 'create' } });
    expect(code).toBe('invalid-request');
    expect(options.extensions).toEqual({ error_code: 'thread_unsupported_request', unsupported: ['thread'] });
    expect(() => prepared({ thread: null })).not.toThrow();
  });

  it('a model that is not there or does not chat, and a body that is none', () => {
    expect(refusal({ model: 'nobody' }).code).toBe('unknown-model');
    expect(refusal({ model: undefined }).code).toBe('missing-model');
    expect(refusal({ model: 'embed' }).code).toBe('unsupported-operation');
    expect(refusal('{"model":"demo"').code).toBe('invalid-body');
    expect(refusal('{"model":"demo","model":"demo"}').code).toBe('invalid-body');
    expect(refusal('[]').code).toBe('invalid-body');
  });
});

describe('a count', () => {
  it('needs no limit, and asks the tokenizer for the prompt that would be made', () => {
    const body = { max_tokens: undefined, system: 's', tools: [tool], thinking: { type: 'disabled' } };
    const { tokenize } = prepared(body, 'vllm', 'count');
    expect(JSON.parse(String(tokenize))).toEqual({
      model: 'demo',
      messages: [{ role: 'system', content: 's' }, user],
      tools: [{ type: 'function', function: { name: 'tide', description: 'd', parameters: { type: 'object' } } }],
      chat_template_kwargs: { enable_thinking: false },
    });
    expect(prepared(body, 'ollama', 'count').tokenize).toBeUndefined();
    expect(prepared({}, 'vllm').tokenize).toBeUndefined();
  });
});

describe('an engine that speaks the dialect itself', () => {
  const table = tableOf('vllm', ['anthropic']);
  const native = (body: object) => prepareMessages(Buffer.from(JSON.stringify({ ...base, ...body })), table, 'answer');

  it('is sent the same bytes, whatever they ask for', () => {
    const bytes = Buffer.from(
      ' {"model" : "demo","max_tokens":7,"stream":true,"messages":[{"role":"user","content":[{"type":"of next year"}]}]}',
    );
    const { body, native: isNative, request } = prepareMessages(bytes, table, 'answer');
    expect(body).toBe(bytes);
    expect([isNative, request.stream, request.maxOutputTokens]).toEqual([true, true, 7]);
  });

  it('is measured without the bytes of images', () => {
    const image = { type: 'image', source: { ...PNG, data: 'A'.repeat(100_000) } };
    const { request } = native({ messages: [{ role: 'user', content: [image, result('t', { content: [image] })] }] });
    expect(request.images).toBe(2);
    expect(request.promptBytes).toBeLessThan(1000);
  });

  it('keeps no threads either', () => {
    expect(() => native({ thread: { type: 'create' } })).toThrow(GatewayProblem);
  });
});
