import { objectOr, type JsonObject } from '../../../../../test/support/json.js';
import {
  CONTEXT,
  framesOf,
  lastResponse,
  official,
  renderedResponse,
  rendering,
} from '../../../../../test/support/rendered-responses.js';
import { chunk, delta, DONE, SSE, text, USAGE } from '../../../../../test/support/rendered-stream.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const finish = (reason = 'stop'): string => chunk([{ index: 0, delta: {}, finish_reason: reason }]);
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

/** Types of events, without the prefix that all of them have. */
const typesOf = (bytes: Uint8Array, outcome: 'complete' | 'error' = 'complete'): (string | undefined)[] =>
  framesOf(bytes, outcome).map(({ event }) => event?.replace('response.', ''));

const message = (parts: unknown, status = 'completed') => ({
  type: 'message',
  role: 'assistant',
  status,
  content: parts,
});

describe('a stream', () => {
  it('answers each chunk before the next one is read', () => {
    const one = rendering();
    one.begin(200, SSE);
    expect(text(one.push(Buffer.from(delta({ role: 'assistant', content: '' }))))).toMatch(
      /^event: response\.created\n.*\n\nevent: response\.in_progress\n.*\n\n$/,
    );
    expect(one.contentSeen).toBe(false);
    expect(text(one.push(Buffer.from(delta({ content: 'a' }))))).toBe(
      'event: response.output_item.added\ndata: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_req-1_0","type":"message","status":"in_progress","role":"assistant","content":[]}}\n\n' +
        'event: response.content_part.added\ndata: {"type":"response.content_part.added","sequence_number":3,"item_id":"msg_req-1_0","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}\n\n' +
        'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_req-1_0","output_index":0,"content_index":0,"delta":"a","logprobs":[]}\n\n',
    );
    expect(one.contentSeen).toBe(true);
    expect(text(one.push(Buffer.from(delta({ content: 'b' }))))).toMatch(
      /^event: response\.output_text\.delta\n.*\n\n$/,
    );
    expect(text(one.push(Buffer.from(finish())))).toBe('');
    expect(text(one.push(Buffer.from(usage())))).toBe('');
    expect(text(one.push(Buffer.from(DONE)))).toContain('event: response.completed\n');
    expect(one.usage).toMatchObject({ promptTokens: 2, completionTokens: 3 });
    expect(text(one.end())).toBe('');
    expect(one.failed).toBe(false);
  });

  it('begins with a response that has nothing yet, and ends with all of it', () => {
    const cached = {
      prompt_tokens: 20,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 15 },
      completion_tokens_details: { reasoning_tokens: 4 },
    };
    const frames = framesOf(renderedResponse([delta({ content: 'a' }), finish(), usage(cached), DONE]));
    const nothing = { error: null, incomplete_details: null, store: false, tools: [] };
    const head = { id: 'resp_req-1', object: 'response', created_at: 1_760_000_000, model: 'demo-chat', ...nothing };
    const begun = { ...head, status: 'in_progress', output: [], usage: null };
    expect(frames.slice(0, 2).map(({ data }) => objectOr(data)['response'])).toEqual([begun, begun]);
    const part = { type: 'output_text', text: 'a', annotations: [], logprobs: [] };
    expect(objectOr(frames.at(-1)?.data)['response']).toEqual({
      ...head,
      status: 'completed',
      output: [{ id: 'msg_req-1_0', ...message([part]) }],
      usage: {
        input_tokens: 20,
        input_tokens_details: { cached_tokens: 15, cache_write_tokens: 0 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 4 },
        total_tokens: 25,
      },
    });
  });

  it('tells thoughts, words and calls in items of their own, each to its end', () => {
    const pieces = [
      delta({ reasoning_content: 'hm' }),
      delta({ content: 'a' }),
      call({ index: 0, id: 'c1', ...fn('tide', '{}') }),
    ];
    const item = (part: string) => ['content_part.added', `${part}.delta`, `${part}.done`, 'content_part.done'];
    expect(typesOf(renderedResponse([...pieces, finish('tool_calls'), usage(), DONE]))).toEqual([
      ...['created', 'in_progress'],
      ...['output_item.added', ...item('reasoning_text'), 'output_item.done'],
      ...['output_item.added', ...item('output_text'), 'output_item.done'],
      ...['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.done', 'output_item.done'],
      'completed',
    ]);
  });

  it('gives thoughts under either name once, and again where they go on', () => {
    const pieces = [
      delta({ reasoning: 'a', reasoning_content: 'a' }),
      delta({ reasoning: 'b' }),
      delta({ content: 'c' }),
      delta({ reasoning_content: 'd' }),
    ];
    expect(lastResponse([...pieces, finish(), DONE])['output']).toMatchObject([
      { type: 'reasoning', id: 'rs_req-1_0', summary: [], content: [{ type: 'reasoning_text', text: 'ab' }] },
      message([{ text: 'c' }]),
      { type: 'reasoning', id: 'rs_req-1_2', content: [{ text: 'd' }] },
    ]);
  });

  it('puts a refusal beside the text of the same message, as a part of its own kind', () => {
    const out = renderedResponse([delta({ content: 'Well' }), delta({ refusal: 'No' }), delta({ refusal: '.' }), DONE]);
    expect(objectOr(objectOr(framesOf(out).at(-1)?.data)['response'])['output']).toMatchObject([
      message([
        { type: 'output_text', text: 'Well' },
        { type: 'refusal', refusal: 'No.' },
      ]),
    ]);
    expect(framesOf(out).find(({ event }) => event === 'response.refusal.done')?.data).toMatchObject({
      content_index: 1,
      refusal: 'No.',
    });
  });

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('that ends with %s is incomplete, and says why', (reason, expected) => {
    const out = renderedResponse([delta({ content: 'a' }), finish(reason), usage(), DONE]);
    expect(typesOf(out).at(-1)).toBe('incomplete');
    expect(objectOr(framesOf(out).at(-1)?.data)['response']).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: expected },
      output: [message([{ text: 'a' }], 'incomplete')],
      usage: { total_tokens: 5 },
    });
  });

  it.each([
    ['stop', finish()],
    ['something else', finish('aborted')],
    ['nothing but [DONE]', DONE],
  ])('that ends with %s is completed', (_, last) => {
    expect(lastResponse([delta({ content: 'a' }), last, DONE])).toMatchObject({
      status: 'completed',
      incomplete_details: null,
    });
  });

  it('counts by itself where the engine counts nothing', () => {
    expect(lastResponse([delta({ content: 'a' }), delta({ content: 'b' }), DONE])['usage']).toMatchObject({
      input_tokens: 17,
      output_tokens: 2,
      total_tokens: 19,
    });
  });

  it('of nothing is a response without output', () => {
    expect(lastResponse([delta({ role: 'assistant', content: '' }), finish(), DONE])['output']).toEqual([]);
    expect(lastResponse([DONE])['output']).toEqual([]);
  });

  it('reads choices that are null, missing or somebody else’s', () => {
    const odd = [
      chunk(null),
      'data: {}\n\n',
      delta({ content: 'x' }, null, 1),
      'data: "text"\n\n',
      'data:\n\n',
      'event: note\ndata: no json\n\n',
    ];
    expect(lastResponse([...odd, delta({ content: 'a' }), finish(), DONE])['output']).toMatchObject([
      message([{ text: 'a' }]),
    ]);
  });

  it('is complete once it has its finish_reason, even where the engine breaks off then', () => {
    const one = rendering();
    one.begin(200, SSE);
    one.push(Buffer.from(delta({ content: 'a' }) + finish()));
    expect(text(one.failure(broken))).toContain('response.completed');
    expect(one.failed).toBe(false);
    expect(one.heartbeat()).toBeUndefined();
  });

  it('that is cut fails with what had come, and never completes', () => {
    const out = renderedResponse([delta({ content: 'a' })]);
    expect(typesOf(out, 'error').at(-1)).toBe('failed');
    expect(out.toString()).not.toContain('response.completed');
    expect(lastResponse([delta({ content: 'a' })], 'error')).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: expect.stringContaining('server_error') },
      output: [message([{ text: 'a' }], 'incomplete')],
    });
  });

  it('that fails in a call keeps what had come of it', () => {
    const out = lastResponse([usage(), call({ index: 0, id: 'c', ...fn('a', '{"x"') })], 'error');
    expect(out).toMatchObject({
      output: [{ type: 'function_call', status: 'incomplete', arguments: '{"x"' }],
      usage: { total_tokens: 5 },
    });
  });

  it.each<[string, string, string]>([
    ['an object', 'data: {"error":{"message":"out of memory","code":500}}\n\n', 'server_error'],
    ['a text', 'data: {"error":"out of memory"}\n\n', 'server_error'],
    ['flat', 'data: {"object":"error","message":"out of memory","code":429}\n\n', 'rate_limit_exceeded'],
    ['a fault of the request', 'data: {"error":{"message":"out of memory","code":400}}\n\n', 'invalid_prompt'],
    ['an event of that name', 'event: error\ndata: out of memory\n\n', 'server_error'],
  ])('passes on the error that an engine writes as %s, once and last', (_, event, code) => {
    const out = lastResponse([delta({ content: 'a' }), event, DONE, delta({ content: 'b' })], 'error');
    expect(out).toMatchObject({ status: 'failed', error: { code, message: expect.stringContaining('out of memory') } });
    expect(out['output']).toMatchObject([{ content: [{ text: 'a' }] }]);
  });

  it('begins before it fails, where the error comes first', () => {
    const out = renderedResponse(['data: {"error":"no"}\n\n']);
    expect(typesOf(out, 'error')).toEqual(['created', 'in_progress', 'failed']);
  });

  it('says that the prompt is too long in the code that clients know', () => {
    const event = 'data: {"error":{"message":"maximum context length is 8 tokens","code":400}}\n\n';
    expect(lastResponse([event], 'error')['error']).toMatchObject({ code: 'context_length_exceeded' });
  });

  it('refuses an event without an end, and an answer without one', () => {
    const huge = `data: {"choices":[{"delta":{"content":"${'x'.repeat(17 * 1024 * 1024)}`;
    expect(lastResponse([huge], 'error')['error']).toMatchObject({ code: 'server_error' });
    const large = delta({ content: 'x'.repeat(15 * 1024 * 1024) });
    const out = renderedResponse([large, large, large, large, large, delta({ content: 'b' }), DONE]).toString();
    expect(out.slice(out.lastIndexOf('event: '), out.lastIndexOf('event: ') + 30)).toContain('response.failed');
  });
});

describe('calls of functions', () => {
  const calls = (...pieces: string[]): unknown => lastResponse([...pieces, finish('tool_calls'), DONE])['output'];

  it('have the id of the engine to be answered by, and one of their own', () => {
    expect(calls(call({ index: 0, id: 'c1', ...fn('tide', '{"a":1}') }))).toEqual([
      {
        id: 'fc_req-1_0',
        type: 'function_call',
        status: 'completed',
        call_id: 'c1',
        name: 'tide',
        arguments: '{"a":1}',
      },
    ]);
  });

  it('tell their arguments in pieces, and then at once', () => {
    const out = renderedResponse([
      call({ index: 0, id: 'c1', ...fn('tide', '') }),
      call({ index: 0, ...fn(undefined, '{"a"') }),
      call({ index: 0, ...fn(undefined, ':1}') }),
      finish('stop'),
      DONE,
    ]);
    const said = framesOf(out).filter(({ event }) => event?.includes('function_call_arguments'));
    expect(said.map(({ data }) => data)).toMatchObject([
      { delta: '{"a"' },
      { delta: ':1}' },
      { arguments: '{"a":1}', name: 'tide', item_id: 'fc_req-1_0', output_index: 0 },
    ]);
  });

  it('without an index are told apart by their ids, and without an id get one', () => {
    const pieces = [
      call({ id: 'c1', ...fn('a', '{}') }),
      call(fn(undefined, '')),
      call({ id: 'c2', ...fn('b', '{}') }),
    ];
    expect(calls(...pieces)).toMatchObject([
      { call_id: 'c1', name: 'a' },
      { call_id: 'c2', name: 'b' },
    ]);
    expect(calls(call({ index: 0, ...fn('a', '{}') }))).toMatchObject([{ call_id: 'call_req-1_0' }]);
  });

  it('follow each other though the engine interleaves them', () => {
    const pieces = [
      call({ index: 0, id: 'c1', ...fn('a', '{"x"') }),
      call({ index: 1, id: 'c2', ...fn('b', '{"y":') }),
      call({ index: 0, ...fn(undefined, ':1}') }),
      call({ index: 1, ...fn(undefined, '2}') }),
    ];
    expect(calls(...pieces)).toMatchObject([{ arguments: '{"x":1}' }, { arguments: '{"y":2}' }]);
  });

  it('may carry arguments that are an object, whose numbers keep their digits', () => {
    const tools = '[{"index":0,"id":"c1","function":{"name":"a","arguments":{"n":12345678901234567890}}}]';
    const event = `data: {"choices":[{"index":0,"delta":{"tool_calls":${tools}}}]}\n\n`;
    expect(calls(event)).toMatchObject([{ arguments: '{"n":12345678901234567890}' }]);
  });

  it('that bring nothing bring an empty object, and what is no JSON stays as it is', () => {
    expect(calls(call({ index: 0, id: 'c1', ...fn('a', '') }))).toMatchObject([{ arguments: '{}' }]);
    expect(calls(call({ index: 0, id: 'c1', ...fn('a', '{x') }))).toMatchObject([
      { arguments: '{x', status: 'completed' },
    ]);
  });

  it('that the engine had no room for are incomplete, and only those', () => {
    const pieces = [
      call({ index: 0, id: 'c1', ...fn('a', '{"x":1}') }),
      call({ index: 1, id: 'c2', ...fn('b', '{"x":"a') }),
    ];
    const out = lastResponse([...pieces, finish('length'), DONE]);
    expect(out).toMatchObject({
      status: 'incomplete',
      output: [{ status: 'completed' }, { status: 'incomplete', arguments: '{"x":"a' }],
    });
  });

  it('end where text goes on', () => {
    const pieces = [call({ index: 0, id: 'c1', ...fn('a', '{}') }), delta({ content: 'and so' })];
    expect(calls(...pieces)).toMatchObject([{ call_id: 'c1' }, message([{ text: 'and so' }])]);
  });

  it('go on behind words that came in their middle, which follow them', () => {
    const start = call({ index: 0, id: 'c1', ...fn('a', '{"x"') });
    const rest = call({ index: 0, ...fn(undefined, ':1}') });
    const item = { call_id: 'c1', arguments: '{"x":1}', status: 'completed' };
    expect(calls(start, delta({ content: ' ' }), rest)).toMatchObject([item, message([{ text: ' ' }])]);
    const words = [delta({ content: 'b' }), delta({ refusal: 'c' }), delta({ reasoning: 'd' })];
    expect(calls(start, ...words, rest, delta({ content: 'e' }))).toMatchObject([
      item,
      message([{ text: 'b' }, { refusal: 'c' }]),
      { type: 'reasoning', content: [{ text: 'd' }] },
      message([{ text: 'e' }]),
    ]);
    const open = [call({ index: 0, id: 'c1', ...fn('a', 'no json') }), ...words];
    expect(calls(...open)).toMatchObject([{ arguments: 'no json' }, { type: 'message' }, { type: 'reasoning' }]);
  });

  it('that have no name, go on behind their end or never end fail the stream', () => {
    const nameless = [call({ index: 0, id: 'c1' }), finish(), DONE];
    const late = [
      call({ index: 0, id: 'c1', ...fn('a', '{}') }),
      delta({ content: 'x' }),
      call({ index: 0, ...fn(undefined, '{}') }),
    ];
    const many = Array.from({ length: 600 }, (_, index) => call({ index, id: `c${index}`, ...fn('a', '{}') }));
    for (const pieces of [nameless, late, many])
      expect(lastResponse(pieces, 'error')['error']).toMatchObject({ code: 'server_error' });
  });
});

describe('a stream that is kept alive', () => {
  it('is created with its first heartbeat and in progress with every other', () => {
    const one = rendering();
    expect(one.head()).toMatchObject({
      status: 200,
      headers: expect.arrayContaining(['text/event-stream; charset=utf-8', 'no-store']),
    });
    const beats = [one.heartbeat(), one.heartbeat(), one.heartbeat()].map(text).join('');
    one.begin(200, SSE);
    const first = text(one.push(Buffer.from(delta({ content: 'a' }))));
    const between = text(one.heartbeat());
    const rest = text(one.push(Buffer.from(delta({ content: 'b' }) + finish() + usage() + DONE)));
    const types = typesOf(Buffer.from(beats + first + between + rest));
    expect(types.slice(0, 4)).toEqual(['created', 'in_progress', 'in_progress', 'output_item.added']);
    expect(types.slice(5, 8)).toEqual(['output_text.delta', 'in_progress', 'output_text.delta']);
    expect(one.contentSeen).toBe(true);
  });

  it('has content seen by no heartbeat', () => {
    const one = rendering();
    one.heartbeat();
    one.heartbeat();
    expect(one.contentSeen).toBe(false);
  });

  it('is accepted by the official client with heartbeats anywhere', async () => {
    const one = rendering();
    one.begin(200, SSE);
    const pieces = [delta({ reasoning: 'hm' }), delta({ content: 'a' }), call({ id: 'c', ...fn('f', '{}') }), DONE];
    const out = [one.heartbeat(), ...pieces.flatMap((piece) => [one.push(Buffer.from(piece)), one.heartbeat()])];
    const bytes = Buffer.concat(out.filter((each) => each !== undefined));
    framesOf(bytes);
    expect(await official(bytes)).toMatchObject({
      status: 'completed',
      output_text: 'a',
      output: [{ type: 'reasoning' }, { type: 'message' }, { type: 'function_call', call_id: 'c' }],
    });
  });

  it('is told in an event what the engine answered with a status', () => {
    const one = rendering();
    const beat = text(one.heartbeat());
    expect(one.begin(429, JSON_TYPE)).toBe('whole');
    const { body } = one.whole(Buffer.from('{"error":{"message":"slow down"}}'));
    const frames = framesOf(Buffer.concat([Buffer.from(beat), body]), 'error');
    expect(frames.at(-1)).toMatchObject({
      event: 'response.failed',
      data: { response: { error: { code: 'rate_limit_exceeded', message: expect.stringContaining('slow down') } } },
    });
    expect(one.failed).toBe(true);
    expect(one.heartbeat()).toBeUndefined();
    expect(text(one.failure(broken))).toBe('');
  });

  it('is told in an event of an error that has a status of success', () => {
    const one = rendering();
    const beat = text(one.heartbeat());
    one.begin(200, JSON_TYPE);
    const { body } = one.whole(Buffer.from('{"error":{"message":"out of memory"}}'));
    const frames = framesOf(Buffer.concat([Buffer.from(beat), body]), 'error');
    expect(frames.at(-1)?.data).toMatchObject({ response: { error: { code: 'server_error' } } });
  });

  it.each<[GatewayProblem, string, string]>([
    [new GatewayProblem('queue-timeout', { detail: 'The wait was too long.' }), 'server_error', 'timeout'],
    [new GatewayProblem('draining', { detail: 'Going.' }), 'server_error', 'overloaded'],
    [new GatewayProblem('budget-exhausted', { detail: 'Spent.' }), 'rate_limit_exceeded', 'rate limit'],
    [new GatewayProblem('upstream-refused-us', { detail: 'No.' }), 'upstream_refused_us', 'No.'],
  ])('fails in the dialect’s own way: %s', (problem, code, word) => {
    const one = rendering();
    const beat = text(one.heartbeat());
    const frames = framesOf(Buffer.from(beat + text(one.failure(problem))), 'error');
    expect(frames.at(-1)?.data).toMatchObject({
      type: 'response.failed',
      response: { id: 'resp_req-1', status: 'failed', error: { code, message: expect.stringContaining(word) } },
    });
  });
});

describe('an answer that is whole', () => {
  const answer = (said: object, more: object = {}): Buffer =>
    Buffer.from(
      JSON.stringify({ choices: [{ index: 0, message: said, finish_reason: 'stop', ...more }], usage: USAGE }),
    );
  const whole = (body: Buffer | string, status = 200, stream = false) => {
    const one = rendering({ stream });
    one.begin(status, JSON_TYPE);
    return { one, response: one.whole(Buffer.from(body)) };
  };
  const json = (body: Uint8Array): JsonObject => objectOr(JSON.parse(Buffer.from(body).toString()));

  it('becomes a response', () => {
    const { one, response } = whole(answer({ reasoning_content: 'hm', content: 'Four.' }));
    expect(response).toMatchObject({ status: 200, headers: expect.arrayContaining(['application/json']) });
    expect(json(response.body)).toMatchObject({
      id: 'resp_req-1',
      object: 'response',
      status: 'completed',
      output: [
        { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'hm' }] },
        message([{ type: 'output_text', text: 'Four.' }]),
      ],
      usage: { input_tokens: 2, output_tokens: 3, total_tokens: 5 },
    });
    expect(one.usage).toMatchObject({ completionTokens: 3 });
  });

  it('takes content in parts, and arguments as they were written', () => {
    const said = {
      content: [{ type: 'text', text: 'a' }, { text: 'b' }],
      tool_calls: [{ id: 'c1', function: { name: 'f', arguments: '{"n": 1.10}' } }],
    };
    expect(json(whole(answer(said)).response.body)['output']).toMatchObject([
      message([{ text: 'ab' }]),
      { call_id: 'c1', arguments: '{"n": 1.10}' },
    ]);
  });

  it.each([
    ['length', { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }],
    ['content_filter', { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }],
    ['tool_calls', { status: 'completed', incomplete_details: null }],
  ])('that ended with %s says so', (reason, expected) => {
    expect(json(whole(answer({ content: 'a' }, { finish_reason: reason })).response.body)).toMatchObject(expected);
  });

  it('becomes the whole sequence of events where a stream was asked for', async () => {
    const called = { content: 'Hi', tool_calls: [{ id: 'c', function: { name: 'a', arguments: '{}' } }] };
    const { one, response } = whole(answer(called, { index: 3 }), 200, true);
    expect(typesOf(response.body).at(-1)).toBe('completed');
    expect(await official(response.body)).toMatchObject({ output_text: 'Hi', output: [{}, { call_id: 'c' }] });
    expect(one.usage).toMatchObject({ promptTokens: 2 });
  });

  it('goes on behind heartbeats where it is late', () => {
    const one = rendering();
    one.begin(200, JSON_TYPE);
    const beat = text(one.heartbeat());
    const { body } = one.whole(answer({ content: 'Hi' }));
    expect(typesOf(Buffer.concat([Buffer.from(beat), body])).at(-1)).toBe('completed');
  });

  it.each([
    '{"error":{"message":"out of memory"}}',
    '{"choices":[],"error":{"message":"out of memory","code":500}}',
    '{"choices":[{"message":{"content":""},"finish_reason":"error"}],"error":"out of memory"}',
  ])('that hides an error is an error with a status: %s', (body) => {
    const { response } = whole(body);
    expect(response.status).toBe(502);
    const error = { type: 'server_error', message: expect.stringContaining('out of memory') as unknown };
    expect(json(response.body)).toMatchObject({ error, request_id: CONTEXT.requestId });
  });

  it.each(['', '<html>', '{}', '{"choices":[]}', '[1]', '{"choices":[{"message":{"tool_calls":[{"id":"c"}]}}]}'])(
    'is no answer: %j',
    (body) => {
      expect(problemOf(() => whole(body)).code).toBe('upstream-invalid');
    },
  );

  it('with an error status is the error of the OpenAI dialects', () => {
    const readable = '{"error":{"message":"the reason","type":"t"}}';
    expect(whole(readable, 400).response).toMatchObject({ status: 400, body: Buffer.from(readable) });
    expect(json(whole('{"detail":"the reason"}', 422).response.body)).toMatchObject({
      status: 422,
      error: { message: 'the reason', type: 'invalid_request_error' },
    });
    expect(json(whole('{"error":"maximum context length"}', 500).response.body)).toMatchObject({
      status: 400,
      error: { code: 'context_length_exceeded' },
    });
  });

  it.each([401, 403, 302])('with status %i is the gateway’s quarrel', (status) => {
    expect(problemOf(() => rendering().begin(status, {})).code).toBe('upstream-refused-us');
  });

  it('is refused where it is too large, and nothing can be said of that any more', () => {
    const one = rendering({ stream: false });
    one.begin(200, JSON_TYPE);
    expect(problemOf(() => one.push(Buffer.from('{'))).code).toBe('upstream-invalid');
    expect(one.failure(broken)).toBeUndefined();
  });
});
