import { MemoryClaims } from './memory-claims.js';
import type { Claim } from './shared-ledger.js';

interface Wish {
  readonly endpoint?: string;
  readonly places?: number;
  readonly kvTokens?: number;
  readonly whenIdle?: boolean;
}

function claimOf(id: string, { endpoint = 'a:80', places = 1, kvTokens = 100, whenIdle = false }: Wish = {}): Claim {
  const size = { band: 0, kind: 'light' as const, promptTokens: 10, estimateMs: 10, grantedAgoMs: 0 };
  const limits = { endpointPlaces: 4, poolPlaces: 6, endpointKvTokens: 1000 };
  return { id, lease: { endpoint, places, kvTokens, ...size }, ...limits, whenIdle };
}

describe('claims in memory', () => {
  it('never pass the places of an endpoint or of the pool, and give each one back once', () => {
    const claims = new MemoryClaims();
    const atA = ['1', '2', '3', '4', '5'].map((id) => claims.claim(claimOf(id)));
    const atB = ['6', '7', '8'].map((id) => claims.claim(claimOf(id, { endpoint: 'b:80' })));
    expect([atA, atB]).toEqual([
      [true, true, true, true, false],
      [true, true, false],
    ]);
    claims.release('1');
    claims.release('1');
    claims.release('never there');
    expect([claims.claim(claimOf('9')), claims.claim(claimOf('10'))]).toEqual([true, false]);
  });

  it('count KV tokens, and let an idle endpoint take what is larger than its limits', () => {
    const claims = new MemoryClaims();
    expect(claims.claim(claimOf('large', { kvTokens: 5000 }))).toBe(false);
    expect(claims.claim(claimOf('large', { kvTokens: 5000, places: 7, whenIdle: true }))).toBe(true);
    expect(claims.claim(claimOf('next', { whenIdle: true }))).toBe(false);
    claims.release('large');
    const three = ['600', '600', '400'].map((tokens, at) =>
      claims.claim(claimOf(`small-${at}`, { kvTokens: Number(tokens) })),
    );
    expect(three).toEqual([true, false, true]);
  });
});
