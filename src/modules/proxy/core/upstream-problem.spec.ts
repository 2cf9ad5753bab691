import { GatewayProblem } from '../../../common/problem/gateway-problem.js';
import { upstreamFailure } from './upstream-problem.js';

const coded = (code: string): Error => Object.assign(new Error(`connect ${code} 10.0.0.1:80`), { code });

describe('the failure of an upstream', () => {
  it.each([
    ['UND_ERR_CONNECT_TIMEOUT', 504, 'timeout'],
    ['UND_ERR_HEADERS_TIMEOUT', 504, 'timeout'],
    ['UND_ERR_BODY_TIMEOUT', 504, 'timeout'],
    ['ETIMEDOUT', 504, 'timeout'],
    ['ECONNREFUSED', 502, 'refused'],
    ['ENOTFOUND', 502, 'refused'],
    ['HPE_INVALID_CONSTANT', 502, 'server_error'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 502, 'server_error'],
    ['ECONNRESET', 502, 'reset'],
    ['UND_ERR_SOCKET', 502, 'reset'],
    ['EMFILE', 503, 'cancelled'],
    ['EADDRNOTAVAIL', 503, 'cancelled'],
  ])('%s is a %d, and shows neither code nor address', (code, status, outcome) => {
    const found = upstreamFailure(coded(code), false);
    expect([found.problem.status, found.outcome]).toEqual([status, outcome]);
    expect(found.problem.options.detail).not.toMatch(/10\.0\.0\.1|UND_ERR|ECONN|HPE_|EMFILE/);
    expect(found.problem.options.cause).toBeInstanceOf(Error);
  });

  it('is another one in the middle of an answer', () => {
    expect(upstreamFailure(coded('ECONNRESET'), true).problem.code).toBe('upstream-failed');
    expect(upstreamFailure(coded('ECONNRESET'), false).problem.code).toBe('upstream-unreachable');
  });

  it('stays what it is where it is a problem already', () => {
    const problem = new GatewayProblem('upstream-invalid', { detail: 'x' });
    expect(upstreamFailure(problem, true).problem).toBe(problem);
  });

  it('needs no code', () => {
    expect(upstreamFailure('text', false).problem.status).toBe(502);
  });
});
