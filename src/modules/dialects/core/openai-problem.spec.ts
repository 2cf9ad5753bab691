import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { PROBLEMS, type ProblemCode, type ProblemKind } from '../../../common/problem/problems.js';
import { openAiErrorOf, problemEvent, renderOpenAiProblem } from './openai-problem.js';

const context = { requestId: '0b6f3a52-6f5e-4d0c-9c3e-0123456789ab', problemBase: 'https://problems.example/' };
const codes = Object.keys(PROBLEMS) as ProblemCode[];
const rendered = (
  problem: GatewayProblem,
): { status: number; headers: readonly string[]; json: Record<string, unknown> } => {
  const { status, headers, body } = renderOpenAiProblem(problem, context);
  return { status, headers, json: JSON.parse(Buffer.from(body).toString()) as Record<string, unknown> };
};

it('renders a problem as RFC 9457 and as the error that SDKs read, in one object', () => {
  const problem = new GatewayProblem('unknown-model', {
    detail: 'No model "x".',
    extensions: { valid_models: ['a'], status: 200 },
  });
  expect(rendered(problem)).toEqual({
    status: 400,
    headers: ['content-type', 'application/problem+json', 'x-content-type-options', 'nosniff'],
    json: {
      type: 'https://problems.example/unknown-model',
      title: 'No such model',
      status: 400,
      detail: 'No model "x".',
      instance: 'urn:uuid:0b6f3a52-6f5e-4d0c-9c3e-0123456789ab',
      request_id: '0b6f3a52-6f5e-4d0c-9c3e-0123456789ab',
      valid_models: ['a'],
      error: { message: 'No model "x".', type: 'invalid_request_error', param: 'model', code: 'model_not_found' },
    },
  });
});

it('names the request as a URN whatever its id looks like', () => {
  const { body } = renderOpenAiProblem(new GatewayProblem('not-found', { detail: 'x' }), {
    ...context,
    requestId: 'a.b_c',
  });
  expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({
    instance: 'urn:request:a.b_c',
    request_id: 'a.b_c',
  });
});

it.each([
  [0.2, 1],
  [5, 5],
  [5.1, 6],
  [3600, 60],
  [-3, 1],
])('asks to come back after %d s in whole seconds that clients bear: %d', (seconds, shown) => {
  const out = rendered(new GatewayProblem('queue-full', { detail: 'Full.', retryAfterSeconds: seconds }));
  expect(out.headers).toEqual(expect.arrayContaining(['retry-after', String(shown)]));
  expect(out.json['retry_after']).toBe(shown);
});

it('carries the fields of the case', () => {
  const problem = new GatewayProblem('method-not-allowed', { detail: 'x', headers: { allow: 'POST' }, param: 'p' });
  expect(rendered(problem).headers.slice(-2)).toEqual(['allow', 'POST']);
  expect(openAiErrorOf(problem).param).toBe('p');
});

it.each(codes)(
  '%s: clients that decide by the text or by x-should-retry retry it where that helps, and only there',
  (code) => {
    const { status, retryable }: ProblemKind = PROBLEMS[code];
    const out = rendered(new GatewayProblem(code, { detail: 'Something is the matter.' }));
    const whole = JSON.stringify(out.json);
    expect(
      /overloaded|rate limit|server_error|timeout/.test(
        String((out.json['error'] as Record<string, unknown>)['message']),
      ),
    ).toBe(retryable);
    if (!retryable) expect(whole).not.toMatch(/overloaded|rate limit|server_error|timeout/i);
    expect(whole).not.toMatch(/billing|quota/i);
    expect(out.headers.includes('x-should-retry')).toBe(!retryable && (status >= 500 || status === 429));
  },
);

it('adds no word where the text has one', () => {
  const detail = 'The engine is Overloaded.';
  expect(openAiErrorOf(new GatewayProblem('queue-full', { detail })).message).toBe(detail);
});

it.each([
  ['unauthenticated', 'authentication_error', 'invalid_api_key'],
  ['forbidden', 'permission_error', 'insufficient_permissions'],
  ['budget-exhausted', 'rate_limit_error', 'rate_limit_exceeded'],
  ['model-not-found', 'invalid_request_error', 'model_not_found'],
  ['internal', 'server_error', 'internal_error'],
] as const)('%s has the type and code that SDKs know', (code, type, name) => {
  expect(openAiErrorOf(new GatewayProblem(code, { detail: 'x' }))).toMatchObject({ type, code: name });
});

it('never shows the cause', () => {
  const problem = new GatewayProblem('upstream-unreachable', { detail: 'x', cause: new Error('10.0.0.7') });
  expect(Buffer.from(renderOpenAiProblem(problem, context).body).toString()).not.toContain('10.0.0.7');
});

it('is one event inside a stream', () => {
  expect(problemEvent(new GatewayProblem('upstream-timeout', { detail: 'Too late.' })).toString()).toBe(
    'data: {"error":{"message":"Too late. (timeout)","type":"server_error","param":null,"code":"upstream_timeout"}}\n\n',
  );
});
