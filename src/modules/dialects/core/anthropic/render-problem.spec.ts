import { PROBLEMS, type ProblemCode } from '../../../../common/problem/problems.js';
import { GatewayProblem } from '../../../../common/problem/gateway-problem.js';
import { problemEvent, renderAnthropicProblem } from './render-problem.js';

const context = { requestId: '0b6f3a52-6f5e-4d0c-9c3e-111111111111', problemBase: 'https://problems.example/' };
const rendered = (problem: GatewayProblem): Record<string, unknown> =>
  JSON.parse(String(renderAnthropicProblem(problem, context).body)) as Record<string, unknown>;

const TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  500: 'api_error',
  502: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

it.each(Object.keys(PROBLEMS) as ProblemCode[])(
  '%s has the type of its status, and the members of both forms',
  (code) => {
    const problem = new GatewayProblem(code, { detail: 'What was wrong.', extensions: { limit: 7 } });
    expect(rendered(problem)).toEqual({
      type: 'error',
      code,
      title: PROBLEMS[code].title,
      status: problem.status,
      detail: 'What was wrong.',
      instance: `urn:uuid:${context.requestId}`,
      request_id: context.requestId,
      limit: 7,
      error: {
        type: TYPES[problem.status] ?? 'invalid_request_error',
        message: expect.stringContaining('What was wrong.'),
      },
    });
  },
);

it('says in the message whether a retry may help', () => {
  const message = (code: ProblemCode): unknown =>
    (rendered(new GatewayProblem(code, { detail: 'No.' }))['error'] as { message: string }).message;
  expect(message('queue-full')).toBe('No. (overloaded)');
  expect(message('upstream-timeout')).toBe('No. (timeout)');
  expect(message('invalid-request')).toBe('No.');
});

it('carries what official clients look for beside the message', () => {
  const extensions = { error_code: 'thread_unsupported_request', unsupported: ['thread'] };
  const problem = new GatewayProblem('invalid-request', { detail: 'No.', extensions });
  expect(rendered(problem)['error']).toMatchObject({ details: extensions });
});

it('is one event inside a stream', () => {
  const event = problemEvent(new GatewayProblem('draining', { detail: 'Going.' }), 'r-1');
  expect(event).toBe(
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Going. (overloaded)"},"request_id":"r-1"}\n\n',
  );
});
