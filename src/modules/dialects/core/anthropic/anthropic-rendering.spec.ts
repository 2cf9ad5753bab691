import { chunk, delta, DONE, SSE, text, USAGE } from '../../../../../test/support/rendered-stream.js';
import {
  CONTEXT,
  foldedMessage,
  framesOf,
  renderedMessages,
  rendering,
} from '../../../../../test/support/rendered-messages.js';
import { foldStream } from '../../../../../test/support/fold-stream.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const finish = (reason = 'stop', more: object = {}): string =>
  chunk([{ index: 0, delta: {}, finish_reason: reason, ...more }]);
const usage = (numbers: object = USAGE): string => chunk([], { usage: numbers });
const call = (members: object): string => delta({ tool_calls: [members] });
const fn = (name: string | undefined, args?: unknown): object => ({ function: { name, arguments: args } });

const broken = new GatewayProblem('upstream-failed', { detail: 'The engine broke off.' });

function problemOf(run: () => unknown): GatewayProblem {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayProblem) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('a stream', () => {
  it('answers each chunk before the next one is read', () => {
    const one = rendering();
    one.begin(200, SSE);
    expect(text(one.push(Buffer.from(delta({ role: 'assistant', content: '' }))))).toMatch(/^event: message_start\n/);
    expect(one.contentSeen).toBe(false);
    expect(text(one.push(Buffer.from(delta({ content: 'a' }))))).toBe(
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n' +
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}\n\n',
    );
    expect(one.contentSeen).toBe(true);
    expect(text(one.push(Buffer.from(delta({ content: 'b' }))))).toBe(
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}\n\n',
    );
    expect(text(one.push(Buffer.from(finish())))).toBe('');
    expect(text(one.push(Buffer.from(usage())))).toBe('');
    expect(text(one.push(Buffer.from(DONE)))).toContain('"usage":{"input_tokens":2');
    expect(one.usage).toMatchObject({ promptTokens: 2, completionTokens: 3 });
    expect(text(one.end())).toBe('');
    expect(one.failed).toBe(false);
  });

  it('says the likely size of the prompt first, and the counted one last', () => {
    const cached = { prompt_tokens: 20, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 15 } };
    const frames = framesOf(renderedMessages([delta({ content: 'a' }), finish(), usage(cached), DONE]));
    expect(frames[0]?.data).toMatchObject({
      message: {
        id: 'msg_req-1',
        model: 'demo-chat',
        content: [],
        stop_reason: null,
        usage: { input_tokens: 17, output_tokens: 0 },
      },
    });
    expect(frames.at(-2)?.data).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 15, output_tokens: 5 },
    });
  });

  it('counts its own deltas where the engine counts nothing', () => {
    expect(foldedMessage([delta({ content: 'a' }), delta({ content: 'b' }), finish(), DONE])['usage']).toMatchObject({
      input_tokens: 17,
      output_tokens: 2,
    });
  });

  it.each<[string, string, string]>([
    ['length', finish('length'), 'max_tokens'],
    ['content_filter', finish('content_filter'), 'refusal'],
    ['stop', finish('stop', { stop_reason: 128_001 }), 'end_turn'],
    ['something else', finish('aborted'), 'end_turn'],
    ['nothing but [DONE]', DONE, 'end_turn'],
  ])('that ends with %s has its stop reason', (_, last, expected) => {
    expect(foldedMessage([delta({ content: 'a' }), last, DONE])).toMatchObject({
      stop_reason: expected,
      stop_sequence: null,
    });
  });

  it('names the stop sequence that matched, where the engine does', () => {
    const folded = foldedMessage([delta({ content: 'a' }), finish('stop', { stop_reason: 'END' }), DONE]);
    expect(folded).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
  });

  it('makes one message_delta of several finish reasons', () => {
    const frames = framesOf(renderedMessages([delta({ content: 'a' }), finish(), finish(), usage(), DONE]));
    expect(frames.filter(({ event }) => event === 'message_delta')).toHaveLength(1);
  });

  it('gives thinking under either name once, and signs it before anything else', () => {
    const folded = foldedMessage([
      delta({ reasoning: 'a', reasoning_content: 'a' }),
      delta({ reasoning: 'b' }),
      delta({ content: 'c' }),
      delta({ reasoning_content: 'd' }),
      finish(),
      DONE,
    ]);
    expect(folded['content']).toMatchObject([
      { type: 'thinking', thinking: 'ab', signature: expect.stringMatching(/./) },
      { type: 'text', text: 'c' },
      { type: 'thinking', thinking: 'd', signature: expect.stringMatching(/./) },
    ]);
  });

  it('drops thinking that was switched off, and hides what is to be omitted', () => {
    const pieces = [delta({ reasoning: 'secret' }), delta({ content: 'c' }), finish(), DONE];
    expect(foldedMessage(pieces, { thinking: 'off' })['content']).toEqual([{ type: 'text', text: 'c' }]);
    expect(foldedMessage(pieces, { thinking: 'omitted' })['content']).toMatchObject([
      { type: 'thinking', thinking: '', signature: expect.stringMatching(/./) },
      { type: 'text', text: 'c' },
    ]);
  });

  it('turns a refusal into text that ends as one', () => {
    expect(foldedMessage([delta({ refusal: 'No.' }), finish(), DONE])).toMatchObject({
      content: [{ type: 'text', text: 'No.' }],
      stop_reason: 'refusal',
    });
  });

  it('of nothing is a message without content', () => {
    expect(foldedMessage([delta({ role: 'assistant', content: '' }), finish(), DONE])['content']).toEqual([]);
    expect(foldedMessage([DONE])['content']).toEqual([]);
  });

  it('reads choices that are null, missing or somebody else’s', () => {
    const other = delta({ content: 'x' }, null, 1);
    const pieces = [
      chunk(null),
      'data: {}\n\n',
      other,
      'data: "text"\n\n',
      'data:\n\n',
      'event: note\ndata: no json\n\n',
      delta({ content: 'a' }),
      finish(),
      DONE,
    ];
    expect(foldedMessage(pieces)['content']).toEqual([{ type: 'text', text: 'a' }]);
  });

  it('is complete once it has its finish_reason, even where the engine breaks off then', () => {
    const one = rendering();
    one.begin(200, SSE);
    one.push(Buffer.from(delta({ content: 'a' }) + finish()));
    expect(text(one.failure(broken))).toContain('message_stop');
    expect(one.failed).toBe(false);
    expect(one.heartbeat()).toBeUndefined();
  });

  it('that is cut ends in an error, without a stop reason', () => {
    const folded = foldedMessage([delta({ content: 'a' })], {}, 'error');
    expect(folded).toMatchObject({ error: { type: 'api_error', message: expect.stringContaining('server_error') } });
    expect(folded).toMatchObject({ stop_reason: null });
  });

  it('counts a last event that lacks its blank line', () => {
    expect(foldedMessage([delta({ content: 'a' }), finish().trimEnd()])).toMatchObject({ stop_reason: 'end_turn' });
  });

  it.each<[string, string, string]>([
    ['an object', 'data: {"error":{"message":"out of memory","code":500}}\n\n', 'api_error'],
    ['a text', 'data: {"error":"out of memory"}\n\n', 'api_error'],
    ['flat', 'data: {"object":"error","message":"out of memory","code":503}\n\n', 'overloaded_error'],
    ['a detail', 'data: {"detail":"out of memory"}\n\n', 'api_error'],
    ['an event of that name', 'event: error\ndata: out of memory\n\n', 'api_error'],
  ])('passes on the error that an engine writes as %s, once and last', (_, event, type) => {
    const folded = foldedMessage([delta({ content: 'a' }), event, DONE, delta({ content: 'b' })], {}, 'error');
    expect(folded).toMatchObject({ error: { type, message: expect.stringContaining('out of memory') } });
    expect(folded['content']).toEqual([{ type: 'text', text: 'a' }]);
  });

  it('says that the prompt is too long in the words that clients know', () => {
    const event = 'data: {"error":{"message":"maximum context length is 8 tokens","code":400}}\n\n';
    expect(foldedMessage([event], {}, 'error')['error']).toMatchObject({
      type: 'invalid_request_error',
      message: expect.stringContaining('prompt is too long'),
    });
  });

  it('reads data of several lines, though a line alone looks like an event', () => {
    const [first, second] = [
      'data: {"choices":[\n',
      'data: {"index":0,"delta":{"content":"a"},"finish_reason":"stop"}\n\n',
    ];
    const pieces = [
      `${first}data: {"index":0,"delta":{"content":"b"}}\ndata: ]}\n\n`,
      first,
      second.trimEnd(),
      '\ndata: ]}\n\n',
      DONE,
    ];
    expect(foldedMessage(pieces)['content']).toEqual([{ type: 'text', text: 'ba' }]);
    const halves = [
      'data: {"choices":\n',
      'data: [{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n',
      DONE,
    ];
    expect(foldedMessage(halves)['content']).toEqual([{ type: 'text', text: 'a' }]);
  });

  it('refuses an event without an end', () => {
    const huge = `data: {"choices":[{"delta":{"content":"${'x'.repeat(17 * 1024 * 1024)}`;
    expect(foldedMessage([huge], {}, 'error')['error']).toMatchObject({ type: 'api_error' });
  });
});

describe('tool calls', () => {
  const calls = (...pieces: string[]): unknown => foldedMessage([...pieces, finish('tool_calls'), DONE])['content'];

  it('are blocks whose input comes in pieces', () => {
    const out = renderedMessages([
      call({ index: 0, id: 'c1', ...fn('tide', '') }),
      call({ index: 0, ...fn(undefined, '{"a"') }),
      call({ index: 0, ...fn(undefined, ':1}') }),
      finish('stop'),
      DONE,
    ]);
    const frames = framesOf(out);
    const pieces = frames.filter(({ event }) => event === 'content_block_delta').map(({ data }) => data);
    expect(pieces).toMatchObject([{ delta: { partial_json: '{"a"' } }, { delta: { partial_json: ':1}' } }]);
    expect(frames.at(-2)?.data).toMatchObject({ delta: { stop_reason: 'tool_use' } });
  });

  it('without an index are told apart by their ids, and without an id get one', () => {
    expect(
      calls(call({ id: 'c1', ...fn('a', '{}') }), call(fn(undefined, '')), call({ id: 'c2', ...fn('b', '{"x":1}') })),
    ).toEqual([
      { type: 'tool_use', id: 'c1', name: 'a', input: {} },
      { type: 'tool_use', id: 'c2', name: 'b', input: { x: 1 } },
    ]);
    expect(calls(call({ index: 0, ...fn('a', '{}') }))).toEqual([
      { type: 'tool_use', id: expect.stringMatching(/^toolu_/), name: 'a', input: {} },
    ]);
  });

  it('open once their name is known', () => {
    const pieces = [
      call({ index: 0, id: 'c1', ...fn('', '') }),
      call({ index: 0, ...fn(undefined, '{"a":') }),
      call({ index: 0, ...fn('late', '1}') }),
    ];
    expect(calls(...pieces)).toEqual([{ type: 'tool_use', id: 'c1', name: 'late', input: { a: 1 } }]);
  });

  it('may carry arguments that are an object, whose numbers keep their digits', () => {
    const event =
      'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":{"n":12345678901234567890}}}]}}]}\n\n';
    expect(renderedMessages([event, finish(), DONE]).toString()).toContain(
      String.raw`"partial_json":"{\"n\":12345678901234567890}"`,
    );
  });

  it('follow each other while the first is still under way', () => {
    const one = rendering();
    one.begin(200, SSE);
    const push = (piece: string): string => text(one.push(Buffer.from(piece)));
    push(call({ index: 0, id: 'c1', ...fn('a', '{"x"') }));
    expect(push(call({ index: 1, id: 'c2', ...fn('b', '{"y":') }))).toBe('');
    expect(push(call({ index: 0, ...fn(undefined, ':1}') }))).toContain('partial_json');
    // Now that the first is whole, the second one does not have to wait for the end.
    expect(push(call({ index: 1, ...fn(undefined, '2}') }))).toContain('"id":"c2"');
  });

  it('end where text goes on', () => {
    const folded = foldedMessage([
      call({ index: 0, id: 'c1', ...fn('a', '{}') }),
      call({ index: 1, id: 'c2', ...fn('b', '{}') }),
      delta({ content: 'and so' }),
      finish('stop'),
      DONE,
    ]);
    expect(folded).toMatchObject({
      content: [{ id: 'c1' }, { id: 'c2' }, { text: 'and so' }],
      stop_reason: 'tool_use',
    });
  });

  it('go on behind words that came in their middle, which follow them', () => {
    const start = call({ index: 0, id: 'c1', ...fn('a', '{"x"') });
    const rest = call({ index: 0, ...fn(undefined, ':1}') });
    const block = { type: 'tool_use', id: 'c1', name: 'a', input: { x: 1 } };
    expect(calls(start, delta({ content: ' ' }), rest)).toEqual([block, { type: 'text', text: ' ' }]);
    const words = [delta({ content: 'b' }), delta({ reasoning: 'c' }), delta({ content: 'd' })];
    const next = call({ index: 1, id: 'c2', ...fn('b', '{}') });
    expect(calls(delta({ content: 'a' }), start, ...words, rest, delta({ content: 'e' }), next)).toMatchObject([
      { text: 'a' },
      block,
      { text: 'b' },
      { thinking: 'c' },
      { text: 'de' },
      { id: 'c2' },
    ]);
    expect(calls(start, ...words, next, rest)).toMatchObject([
      block,
      { id: 'c2' },
      { text: 'b' },
      { thinking: 'c' },
      { text: 'd' },
    ]);
  });

  it('let the words go on as soon as they are complete, and at the end where they never are', () => {
    const one = rendering();
    one.begin(200, SSE);
    const push = (piece: string): string => text(one.push(Buffer.from(piece)));
    push(call({ index: 0, id: 'c1', ...fn('a', '{"x"') }));
    expect(push(delta({ content: 'held' }))).toBe('');
    expect(push(call({ index: 0, ...fn(undefined, ':1}') }))).toContain('held');
    expect(push(delta({ content: 'free' }))).toContain('free');
    const nothing = call({ index: 0, id: 'c1', ...fn('a', '') });
    expect(calls(nothing, delta({ content: 'x' }))).toMatchObject([{ input: {} }, { text: 'x' }]);
    const cut = [call({ index: 0, id: 'c1', ...fn('a', '{"x') }), delta({ content: 'x' }), finish('length'), DONE];
    expect(foldedMessage(cut)).toMatchObject({ content: [{ name: 'a' }, { text: 'x' }], stop_reason: 'max_tokens' });
  });

  it('that the engine had no room for are cut, not failed', () => {
    const out = foldedMessage([call({ index: 0, id: 'c1', ...fn('a', '{"x":"ab') }), finish('length'), DONE]);
    expect(out['stop_reason']).toBe('max_tokens');
  });

  it('that come to no JSON object fail the stream, unless they could be held back and mended', () => {
    const bad = call({ index: 0, id: 'c1', ...fn('a', '{x') });
    expect(foldedMessage([bad, finish(), DONE], {}, 'error')['error']).toMatchObject({ type: 'api_error' });
    const held = [call({ index: 0, id: 'c1', ...fn('a', '') }), call({ index: 1, id: 'c2', ...fn('b', '{x') })];
    expect(calls(...held)).toMatchObject([{ input: {} }, { input: { raw_arguments: '{x' } }]);
  });

  it('bring an object out of arguments that cannot become one, since those are held back', () => {
    const pieces = (...texts: string[]): string[] => texts.map((text) => call({ index: 0, ...fn(undefined, text) }));
    const named = call({ index: 0, id: 'c1', ...fn('a', '') });
    expect(calls(named, ...pieces('nu', 'll'))).toMatchObject([{ input: {} }]);
    expect(calls(named, ...pieces(' ', '\n'))).toMatchObject([{ input: {} }]);
    expect(calls(named, ...pieces(' ', '{"x"', ':1}'))).toMatchObject([{ input: { x: 1 } }]);
    expect(calls(named, ...pieces('non', 'sense'))).toMatchObject([{ input: { raw_arguments: 'nonsense' } }]);
    expect(calls(named, ...pieces('[1]'))).toMatchObject([{ input: { raw_arguments: '[1]' } }]);
    const cut = foldedMessage([named, ...pieces('nu'), finish('length'), DONE])['content'];
    expect(cut).toMatchObject([{ input: { raw_arguments: 'nu' } }]);
  });

  it.each([
    ['nonsense', { raw_arguments: 'nonsense' }],
    ['{x', { raw_arguments: '{x' }],
    ['null', {}],
    ['', {}],
  ])('of a whole answer are mended for a client that reads a stream (%j)', (input, expected) => {
    const tools = [{ function: { name: 'a', arguments: input } }];
    const choices = [{ index: 0, message: { tool_calls: tools }, finish_reason: 'tool_calls' }];
    const one = rendering();
    one.begin(200, JSON_TYPE);
    const { body } = one.whole(Buffer.from(JSON.stringify({ choices })));
    expect(foldStream('anthropic', framesOf(body))['content']).toMatchObject([{ input: expected }]);
    expect(one.failed).toBe(false);
  });

  it('that never end fail the stream', () => {
    const many = Array.from({ length: 600 }, (_, index) => call({ index, id: `c${index}`, ...fn('a', '{}') }));
    expect(foldedMessage([...many, finish(), DONE], {}, 'error')['error']).toMatchObject({ type: 'api_error' });
  });

  it('that have no name, or go on behind their end, fail the stream', () => {
    expect(foldedMessage([call({ index: 0, id: 'c1' }), finish(), DONE], {}, 'error')['error']).toBeDefined();
    const late = [
      call({ index: 0, id: 'c1', ...fn('a', '{}') }),
      delta({ content: 'x' }),
      call({ index: 0, ...fn(undefined, '{}') }),
    ];
    expect(foldedMessage([...late, finish(), DONE], {}, 'error')['error']).toBeDefined();
  });
});

describe('a stream that is kept alive', () => {
  it('has its head and pings before the engine has one', () => {
    const one = rendering();
    expect(one.head()).toMatchObject({
      status: 200,
      headers: expect.arrayContaining(['text/event-stream; charset=utf-8']),
    });
    expect(text(one.heartbeat())).toBe('event: ping\ndata: {"type":"ping"}\n\n');
    one.begin(200, SSE);
    expect(text(one.heartbeat())).toContain('ping');
  });

  it('is told in an event what the engine answered with a status', () => {
    const one = rendering();
    one.heartbeat();
    expect(one.begin(429, JSON_TYPE)).toBe('whole');
    const { body } = one.whole(Buffer.from('{"error":{"message":"slow down"}}'));
    expect(framesOf(body, 'error')).toMatchObject([{ event: 'error', data: { error: { type: 'rate_limit_error' } } }]);
    expect(one.failed).toBe(true);
    expect(one.heartbeat()).toBeUndefined();
    expect(text(one.failure(broken))).toBe('');
  });

  it('keeps one form where the engine begins a whole answer and then falls silent', () => {
    const one = rendering();
    one.begin(200, JSON_TYPE);
    expect(text(one.heartbeat())).toContain('ping');
    const { body } = one.whole(Buffer.from('{"error":{"message":"out of memory"}}'));
    expect(framesOf(body, 'error')).toMatchObject([{ event: 'error', data: { error: { type: 'api_error' } } }]);
    expect(one.failed).toBe(true);
  });

  it('has no life kept in it where the engine has begun an error, which has its status', () => {
    const one = rendering();
    one.begin(429, JSON_TYPE);
    expect(one.heartbeat()).toBeUndefined();
    expect(one.whole(Buffer.from('{"error":{"message":"slow down"}}')).status).toBe(429);
  });

  it('fails in the dialect’s own way', () => {
    const one = rendering();
    one.heartbeat();
    const timeout = new GatewayProblem('queue-timeout', { detail: 'The wait was too long.' });
    expect(framesOf(one.failure(timeout) ?? Buffer.alloc(0), 'error')).toMatchObject([
      { data: { error: { type: 'timeout_error' }, request_id: CONTEXT.requestId } },
    ]);
  });
});

describe('an answer that is whole', () => {
  const answer = (message: object, more: object = {}): Buffer =>
    Buffer.from(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop', ...more }], usage: USAGE }));
  const whole = (body: Buffer | string, status = 200, stream = false) => {
    const one = rendering({ stream });
    one.begin(status, JSON_TYPE);
    return { one, response: one.whole(Buffer.from(body)) };
  };
  const json = (body: Uint8Array): unknown => JSON.parse(Buffer.from(body).toString());

  it('becomes a message', () => {
    const { one, response } = whole(answer({ reasoning_content: 'hm', content: 'Four.' }));
    expect(json(response.body)).toEqual({
      id: 'msg_req-1',
      type: 'message',
      role: 'assistant',
      model: 'demo-chat',
      content: [
        { type: 'thinking', thinking: 'hm', signature: expect.any(String) },
        { type: 'text', text: 'Four.' },
      ],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 2, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 3 },
    });
    expect(one.usage).toMatchObject({ completionTokens: 3 });
  });

  it('finds the thinking under its newer name, and hides it where that is wanted', () => {
    const body = answer({ reasoning: 'hm', content: 'a' });
    expect(json(whole(body).response.body)).toMatchObject({ content: [{ thinking: 'hm' }, { text: 'a' }] });
    const one = rendering({ stream: false, thinking: 'off' });
    one.begin(200, JSON_TYPE);
    expect(json(one.whole(body).body)).toMatchObject({ content: [{ type: 'text', text: 'a' }] });
  });

  it('keeps the digits of a tool’s input', () => {
    const body = answer({
      tool_calls: [{ id: 'c1', function: { name: 'a', arguments: '{"n": 1.10, "m": 12345678901234567890}' } }],
    });
    expect(Buffer.from(whole(body).response.body).toString()).toContain(
      '"input":{"n": 1.10, "m": 12345678901234567890}',
    );
  });

  it('becomes the whole sequence of events where a stream was asked for', () => {
    const { one, response } = whole(
      answer({ content: 'Hi', tool_calls: [{ id: 'c', function: { name: 'a', arguments: '{}' } }] }),
      200,
      true,
    );
    expect(framesOf(response.body).map(({ event }) => event)).toEqual([
      ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop'],
    ]);
    expect(one.usage).toMatchObject({ promptTokens: 2 });
  });

  it.each([
    '{"error":{"message":"out of memory"}}',
    '{"choices":[],"error":{"message":"out of memory","code":500}}',
    '{"choices":[{"message":{"content":""},"finish_reason":"error"}],"error":"out of memory"}',
  ])('that hides an error is the error of its kind: %s', (body) => {
    const message = expect.stringContaining('out of memory') as unknown;
    for (const stream of [false, true]) {
      const { response } = whole(body, 200, stream);
      expect(response.status).toBe(502);
      expect(json(response.body)).toMatchObject({ type: 'error', error: { type: 'api_error', message } });
    }
  });

  it('has no error where that is null', () => {
    const body = { choices: [{ message: { content: 'a' }, finish_reason: 'stop' }], error: null };
    expect(json(whole(JSON.stringify(body)).response.body)).toMatchObject({ content: [{ text: 'a' }] });
  });

  it.each(['', '<html>', '{}', '{"choices":[]}', '[1]'])('is no answer: %j', (body) => {
    expect(problemOf(() => whole(body)).code).toBe('upstream-invalid');
  });

  it.each<[number, string, number, string]>([
    [400, '{"error":{"message":"the reason"}}', 400, 'invalid_request_error'],
    [422, '{"detail":[{"loc":["body","x"],"msg":"the reason"}]}', 400, 'invalid_request_error'],
    [404, '404 the reason', 404, 'not_found_error'],
    [413, '{"error":"the reason"}', 413, 'request_too_large'],
    [418, '{"error":"the reason"}', 418, 'invalid_request_error'],
    [500, '{"object":"error","message":"the reason"}', 500, 'api_error'],
    [504, '{"error":{"message":"the reason"}}', 504, 'timeout_error'],
    [529, '{"type":"error","error":{"type":"overloaded_error","message":"the reason"}}', 503, 'overloaded_error'],
  ])('of status %i is an error in the dialect', (status, body, seen, type) => {
    const { response } = whole(body, status);
    expect(response.status).toBe(seen);
    expect(json(response.body)).toMatchObject({
      type: 'error',
      code: 'upstream-failed',
      request_id: 'req-1',
      error: { type, message: expect.stringContaining('the reason') },
    });
  });

  it('is refused where it is too large, and nothing can be said of that any more', () => {
    const one = rendering({ stream: false });
    one.begin(200, JSON_TYPE);
    expect(problemOf(() => one.push(Buffer.from('{'))).code).toBe('upstream-invalid');
    expect(one.failure(broken)).toBeUndefined();
  });

  it.each([401, 403, 302])('with status %i is the gateway’s quarrel', (status) => {
    expect(problemOf(() => rendering().begin(status, {})).code).toBe('upstream-refused-us');
  });
});
