import { SSE, terms, text } from '../../../../../test/support/rendered-stream.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import type { EngineHeaders, WholeResponse } from '../../../../common/rendering.js';
import { OpenAiRendering, type OpenAiRenderingTerms } from './open-ai-rendering.js';

const JSON_HEADERS = { 'content-type': 'application/json' };

function whole(
  body: string | Buffer,
  over: Partial<OpenAiRenderingTerms> = {},
  headers: EngineHeaders = JSON_HEADERS,
): WholeResponse {
  const rendering = new OpenAiRendering(terms({ stream: false, ...over }));
  expect(rendering.begin(200, headers)).toBe('whole');
  return rendering.whole(Buffer.from(body));
}

const answer = (message: object, more: object = {}): string =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    created: 7,
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    ...more,
  });

/** Recorded from llama.cpp's server. */
const RECORDED =
  '{"choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":" When the answer and clear."}}],"created":1795995329,"model":"tiny","system_fingerprint":"b1-5b4ebc5","object":"chat.completion","usage":{"completion_tokens":21,"prompt_tokens":40,"total_tokens":61,"prompt_tokens_details":{"cached_tokens":3}},"id":"chatcmpl-61nRdpIiDKTqKqG7olFmc9owTI2tQTdz","timings":{"cache_n":0,"prompt_n":40,"prompt_ms":1.765}}';

describe('the head of the engine', () => {
  it.each([301, 302, 307, 308, 401, 403, 407])(
    '%i is its quarrel with the gateway, not the answer to the client',
    (status) => {
      const begin = (): unknown => new OpenAiRendering(terms()).begin(status, JSON_HEADERS);
      expect(begin).toThrow(expect.objectContaining({ code: 'upstream-refused-us', status: 502 }) as Error);
    },
  );

  it.each([204, 205, 304])('%i has no content, which is no answer', (status) => {
    const begin = (): unknown => new OpenAiRendering(terms()).begin(status, {});
    expect(begin).toThrow(expect.objectContaining({ code: 'upstream-invalid' }) as Error);
  });

  it('may not announce a compressed body, since none was asked for', () => {
    const begin = (encoding: string): unknown =>
      new OpenAiRendering(terms()).begin(200, { ...SSE, 'content-encoding': encoding });
    expect(() => begin('gzip')).toThrow(expect.objectContaining({ code: 'upstream-invalid' }) as Error);
    expect(begin('identity')).toBe('stream');
  });

  it('hands on what is on the list, and nothing else', () => {
    const rendering = new OpenAiRendering(terms());
    rendering.begin(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'openai-processing-ms': '12',
      'retry-after': ['7', '8'],
      'set-cookie': ['a=b'],
      server: 'llama.cpp',
      'x-powered-by': 'x',
      'alt-svc': 'h3',
      'x-accel-redirect': '/etc',
      'x-accel-buffering': 'yes',
      'strict-transport-security': 'max-age=1',
      'www-authenticate': 'Bearer',
      'access-control-allow-origin': '',
      'transfer-encoding': 'chunked',
      connection: 'close',
    });
    expect(rendering.head()).toEqual({
      status: 200,
      headers: [
        ...['content-type', 'text/event-stream; charset=utf-8', 'cache-control', 'no-store', 'x-accel-buffering', 'no'],
        ...['retry-after', '7', 'openai-processing-ms', '12'],
      ],
    });
  });

  it('is not needed for the head of a parked stream', () => {
    expect(new OpenAiRendering(terms()).head()).toEqual({
      status: 200,
      headers: [
        'content-type',
        'text/event-stream; charset=utf-8',
        'cache-control',
        'no-store',
        'x-accel-buffering',
        'no',
      ],
    });
  });
});

describe('a whole answer', () => {
  it('passes as the same buffer, its usage read', () => {
    const rendering = new OpenAiRendering(terms({ stream: false, engine: 'llamacpp' }));
    rendering.begin(200, { ...JSON_HEADERS, server: 'llama.cpp', 'openai-processing-ms': '3' });
    const body = Buffer.from(RECORDED);
    const response = rendering.whole(body);
    expect(response.body).toBe(body);
    expect(response).toMatchObject({
      status: 200,
      headers: ['content-type', 'application/json', 'openai-processing-ms', '3'],
    });
    expect(rendering.usage).toEqual({ promptTokens: 40, completionTokens: 21, cachedTokens: 3, reasoningTokens: 0 });
  });

  it('never claims to be a page', () => {
    expect(whole(RECORDED, {}, { 'content-type': 'text/html' }).headers).toEqual(['content-type', 'application/json']);
  });

  it('is not taken for an error because its text speaks of one', () => {
    const body = answer({ role: 'assistant', content: '{"error":"x","tool_calls":[{}]}' });
    expect(text(whole(body).body)).toBe(body);
  });

  it.each([
    ['an object', '{"error":{"message":"no room","type":"x"}}', 'no room'],
    ['a text', '{"error":"no room"}', 'no room'],
    ['a flat one', '{"object":"error","message":"no room"}', 'no room'],
    ['a detail', '{"detail":"no room"}', 'no room'],
    ['one beside no choices', '{"choices":[],"error":{"message":"no room","code":500}}', 'no room'],
    ['one beside a choice', answer({ role: 'assistant', content: '' }, { error: { message: 'no room' } }), 'no room'],
    ['one beside a long choice', answer({ content: 'x'.repeat(20_000) }, { error: 'no room' }), 'no room'],
  ])('that is an error in disguise is a 502 with its message (%s)', (_shape, body, message) => {
    expect(() => whole(body)).toThrow(
      expect.objectContaining({ code: 'upstream-failed', status: 502, message: `${message} (server_error)` }) as Error,
    );
  });

  it.each([null, false, ''])('is none in disguise where its error is %j', (error) => {
    for (const content of ['hi', 'x'.repeat(20_000)]) {
      const body = answer({ role: 'assistant', content }, { error, detail: 'more' });
      expect(text(whole(body).body)).toBe(body);
    }
  });

  it('that says the prompt is too long is a 400, whatever its status', () => {
    const response = whole('{"error":{"message":"This model\'s maximum context length is 8 tokens"}}');
    expect(response.status).toBe(400);
    expect(JSON.parse(text(response.body))).toMatchObject({
      status: 400,
      error: { code: 'context_length_exceeded', type: 'invalid_request_error' },
    });
  });

  it.each([
    '',
    'ok',
    '<html></html>',
    '{"choices":[',
    '{"choices":',
    '{"id":"x"}',
    '{"choices":[],}, "error"}',
    '{"choices":[{"text":"}',
  ])('that is none (%j) is upstream-invalid', (body) => {
    expect(() => whole(body)).toThrow(expect.objectContaining({ code: 'upstream-invalid', status: 502 }) as Error);
  });

  it('may begin with a byte order mark', () => {
    const body = `\uFEFF${answer({ role: 'assistant', content: 'hi' })}`;
    expect(text(whole(body).body)).toBe(body);
  });

  it('gets its role, and its tool calls what they lack, in place', () => {
    const body =
      '{"id":"c", "n":1.50,"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"f","arguments":{"a": 1.0}}},{"id":"x","type":"function","function":{"name":"g"}}]}}]}';
    const out = text(whole(body).body);
    expect(out.startsWith('{"id":"c", "n":1.50,"choices":[{"message":{"role":"assistant","content":null,')).toBe(true);
    expect(JSON.parse(out)).toMatchObject({
      choices: [
        {
          message: {
            tool_calls: [
              {
                id: expect.stringMatching(/^call_[0-9a-f]{24}$/) as unknown,
                type: 'function',
                function: { arguments: '{"a": 1.0}' },
              },
              { id: 'x', function: { name: 'g', arguments: '{}' } },
            ],
          },
        },
      ],
    });
    expect(text(whole(body, { engine: 'openai' }).body)).toBe(body);
  });

  it('with tool calls that lack nothing is the same buffer', () => {
    const body = answer({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
    });
    expect(text(whole(body).body)).toBe(body);
  });
});

describe('embeddings and reranking', () => {
  const floats =
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,-0.25,2,8]}],"usage":{"prompt_tokens":2,"total_tokens":2}}';

  it('gives vectors as they were asked for', () => {
    const asked = (over: Partial<OpenAiRenderingTerms>): string =>
      text(whole(floats, { operation: 'embeddings', engine: 'ollama', ...over }).body);
    expect(asked({ vectors: 'base64' })).toBe(floats.replace('[0.5,-0.25,2,8]', '"AAAAPwAAgL4AAABAAAAAQQ=="'));
    expect(asked({ vectors: 'float' })).toBe(floats);
    expect(asked({ vectors: 'base64', engine: 'openai' })).toBe(floats);
  });

  it('turns a translated ranking back, and passes any other in whatever shape it has', () => {
    const body = '[{"index":0,"score":0.9}]';
    expect(text(whole(body, { operation: 'rerank', engine: 'tei' }).body)).toBe(body);
    const restore = (native: Buffer): Buffer => Buffer.from(`{"results":${native.toString()}}`);
    expect(text(whole(body, { operation: 'rerank', engine: 'tei', restore }).body)).toBe(`{"results":${body}}`);
  });

  it('knows an error from a ranking', () => {
    expect(() =>
      whole('{"error":"overloaded","error_type":"Overloaded"}', { operation: 'rerank', engine: 'tei' }),
    ).toThrow('overloaded');
  });
});

describe('an answer too large to hold', () => {
  it('passes piece by piece, its usage read from its end', () => {
    const rendering = new OpenAiRendering(terms({ stream: false }));
    rendering.begin(200, { ...JSON_HEADERS, server: 'x' });
    expect(rendering.head().headers).toEqual(['content-type', 'application/json', 'x-content-type-options', 'nosniff']);
    const pieces = [RECORDED.slice(0, 300), RECORDED.slice(300)].map((piece) => Buffer.from(piece));
    for (const piece of pieces) expect(rendering.push(piece)).toBe(piece);
    expect(text(rendering.end())).toBe('');
    expect(rendering.usage).toMatchObject({ promptTokens: 40 });
    expect(rendering.heartbeat(true)).toBeUndefined();
    expect(rendering.failure(new GatewayProblem('upstream-failed', { detail: 'x' }))).toBeUndefined();
  });

  it('is shown as text where it is an error in no known form', () => {
    const rendering = new OpenAiRendering(terms({ stream: false }));
    rendering.begin(500, { 'content-type': 'text/html' });
    expect(rendering.head().headers).toEqual([
      'content-type',
      'text/plain; charset=utf-8',
      'x-content-type-options',
      'nosniff',
    ]);
  });

  it('may be larger where it has to be held', () => {
    const limit = (over: Partial<OpenAiRenderingTerms>): number =>
      new OpenAiRendering(terms({ stream: false, ...over })).wholeLimitBytes;
    expect(limit({})).toBe(1024 * 1024);
    expect(limit({ operation: 'embeddings', vectors: 'base64' })).toBe(64 * 1024 * 1024);
  });
});

it('tells a waiting stream why it fails before the engine was asked', () => {
  const rendering = new OpenAiRendering(terms());
  rendering.head();
  const problem = new GatewayProblem('queue-timeout', { detail: 'The wait was too long.' });
  expect(text(rendering.failure(problem))).toBe(
    'data: {"error":{"message":"The wait was too long. (timeout)","type":"server_error","param":null,"code":"queue_timeout"}}\n\n',
  );
  expect(text(rendering.failure(problem))).toBe('');
});
