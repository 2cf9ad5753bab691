import { checkClaims } from './check-claims.js';
import { Refusal } from './refusal.js';

const NOW_MS = 1_800_000_000_000;
const NOW = NOW_MS / 1000;
const policy = { clockToleranceMs: 30_000, maxTokenLifetimeMs: 3_600_000 };
const usual = { sub: 'acme', iat: NOW, exp: NOW + 600, scope: 'llm:chat' };

const outcome = (more: object): string => {
  try {
    checkClaims({ ...usual, ...more }, policy, NOW_MS);
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) return error.reason;
    throw error;
  }
  return 'accepted';
};

describe('checkClaims', () => {
  it('tells when the token ends, tolerance included', () => {
    expect(checkClaims(usual, policy, NOW_MS)).toBe((NOW + 630) * 1000);
  });

  it.each([
    [{ exp: undefined }, 'malformed'], [{ exp: String(NOW + 600) }, 'malformed'], [{ exp: Infinity }, 'malformed'], [{ exp: null }, 'malformed'],
    [{ exp: NOW - 29 }, 'accepted'], [{ exp: NOW - 30 }, 'expired'], [{ exp: NOW + 3630 }, 'accepted'], [{ exp: NOW + 3631 }, 'expired'], [{ exp: 1e300 }, 'expired'],
    [{ nbf: NOW + 30 }, 'accepted'], [{ nbf: NOW + 31 }, 'expired'], [{ nbf: '0' }, 'malformed'],
    [{ iat: NOW + 30 }, 'accepted'], [{ iat: NOW + 31 }, 'expired'], [{ iat: {} }, 'malformed'], [{ iat: undefined }, 'accepted'],
    [{ sub: undefined }, 'malformed'], [{ sub: '' }, 'malformed'], [{ sub: 7 }, 'malformed'], [{ sub: ['acme'] }, 'malformed'],
  ])('T6: %j', (more, expected) => { expect(outcome(more)).toBe(expected); }); // prettier-ignore

  it('T6: without a configured maximum a token may live for a year', () => {
    const day = 24 * 3600;
    const check = (days: number) => () =>
      checkClaims({ ...usual, exp: NOW + days * day }, { clockToleranceMs: 0 }, NOW_MS);
    expect(check(365)).not.toThrow();
    expect(check(366)).toThrow(Refusal);
  });

  it.each([
    [{ at_hash: 'x' }], [{ c_hash: 'x' }], [{ s_hash: 'x' }], [{ typ: 'ID' }], [{ typ: 'Refresh' }], [{ typ: 'Offline' }],
    [{ token_use: 'id' }], [{ events: {} }], [{ nonce: 'x', scope: undefined }],
  ])('T7: a token with %j is no access token', (more) => { expect(outcome(more)).toBe('malformed'); }); // prettier-ignore

  it.each([[{ typ: 'Bearer' }], [{ token_use: 'access' }], [{ nonce: 'x' }], [{ scope: undefined }]])(
    'T7: a token with %j may be one',
    (more) => {
      expect(outcome(more)).toBe('accepted');
    },
  );
});
