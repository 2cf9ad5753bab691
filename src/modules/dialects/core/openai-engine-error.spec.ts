import { terms } from '../../../../test/support/rendered-stream.js';
import { OpenAiRendering } from './openai/open-ai-rendering.js';

interface Shown {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly body: string;
  readonly json: { readonly [name: string]: unknown; readonly error: Readonly<Record<string, unknown>> };
}

function shown(
  status: number,
  body: string,
  headers: Record<string, string> = { 'content-type': 'application/json' },
): Shown {
  const rendering = new OpenAiRendering(terms({ stream: false }));
  expect(rendering.begin(status, headers)).toBe('whole');
  const response = rendering.whole(Buffer.from(body));
  const fields = Object.fromEntries(
    response.headers.flatMap((value, at) => (at % 2 === 0 ? [[value, response.headers[at + 1] ?? '']] : [])),
  ) as Record<string, string>;
  const out = Buffer.from(response.body).toString();
  return { status: response.status, fields, body: out, json: JSON.parse(out) as Shown['json'] };
}

describe('an error of the engine that clients can read', () => {
  it.each([
    [404, '{"error":{"message":"File Not Found","type":"not_found_error","code":404}}'],
    [400, '{"error":{"code":400,"message":"\'messages\' is required","type":"invalid_request_error"}}'],
    [503, '{"error":{"message":"Loading model","type":"unavailable_error","code":503}}'],
    [400, '{"error": {"message": "n is 1.50", "type": "BadRequestError", "param": null, "code": 400}}'],
  ])('passes untouched under its own status (%i %s)', (status, body) => {
    const out = shown(status, body, { 'content-type': 'application/json; charset=utf-8', server: 'llama.cpp' });
    expect(out).toMatchObject({ status, body });
    expect(out.fields).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    });
  });

  it('keeps the time after which to come back', () => {
    const headers = {
      'content-type': 'application/json',
      'retry-after': '3600',
      'retry-after-ms': '1',
      'set-cookie': 'a=b',
    };
    expect(shown(429, '{"error":{"message":"slow down"}}', headers).fields).toEqual({
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
      'retry-after': '3600',
      'retry-after-ms': '1',
    });
  });

  it('gets the code that clients know where the prompt is too long', () => {
    const body =
      '{"error":{"code":400,"message":"request (8016 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":8016,"n_ctx":2048}}';
    const out = shown(500, body);
    expect(out.status).toBe(400);
    expect(out.body).toBe(body.replace('{"code":400,', '{"param":null,"code":"context_length_exceeded",'));
  });
});

describe('an error of the engine in another shape', () => {
  it('is wrapped: a problem and the error that SDKs read', () => {
    const out = shown(
      400,
      '{"object":"error","message":"temperature must be at most 2","type":"BadRequestError","param":null,"code":400}',
    );
    expect(out.fields).toEqual({ 'content-type': 'application/problem+json', 'x-content-type-options': 'nosniff' });
    expect(out.json).toEqual({
      type: 'https://problems.example/upstream-failed',
      title: 'The engine failed',
      status: 400,
      detail: 'temperature must be at most 2',
      instance: 'urn:request:req-1',
      request_id: 'req-1',
      error: { message: 'temperature must be at most 2', type: 'BadRequestError', param: null, code: 400 },
    });
  });

  it.each([
    ['text', 404, '404 page not found', '404 page not found'],
    ['an error that is a text', 400, '{"error":"invalid model name"}', 'invalid model name'],
    ['a detail', 404, '{"detail":"Not Found"}', 'Not Found'],
    ['a list of faults', 422, '{"detail":[{"loc":["body","a",0],"msg":"wrong"},{"msg":"late"}]}', 'a.0: wrong; late'],
    ['a bare message', 400, '{"message":"no such thing"}', 'no such thing'],
    ['an event', 400, 'data: {"error":{"message":"bad"}}\n\n', 'bad'],
    ['a page', 400, '<html><body>nginx</body></html>', 'The engine reported an error without a usable message.'],
    ['nothing', 400, '', 'The engine reported an error without a usable message.'],
    [
      'an error without a message',
      400,
      '{"error":{"type":"x"}}',
      'The engine reported an error without a usable message.',
    ],
    ['a stack', 400, 'bad n\nTraceback (most recent call last):\n  File "/app/x.py", line 3', 'bad n'],
    ['control characters', 400, 'a\u0000b\u001b[31m', 'a b [31m'],
  ])('gives its message: %s', (_shape, status, body, message) => {
    const out = shown(status, body, { 'content-type': 'text/plain' });
    expect(out.status).toBe(status);
    expect(out.json.error).toMatchObject({ message, param: null });
  });

  it.each([
    [429, 'rate_limit_error', 'slow (rate limit)'],
    [500, 'server_error', 'slow (server_error)'],
    [503, 'server_error', 'slow (overloaded)'],
    [504, 'server_error', 'slow (timeout)'],
    [400, 'invalid_request_error', 'slow'],
    [404, 'not_found_error', 'slow'],
  ])('is retried where its status %i says so, and only there', (status, type, message) => {
    expect(shown(status, 'slow').json.error).toMatchObject({ type, message });
  });

  it('is cut where it is endless', () => {
    expect(String(shown(400, 'x'.repeat(10_000)).json.error['message'])).toHaveLength(2049);
  });

  it('keeps the time after which to come back', () => {
    expect(shown(429, 'slow', { 'retry-after': '120' }).fields).toMatchObject({ 'retry-after': '120' });
  });
});
