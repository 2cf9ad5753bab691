import fc from 'fast-check';
import { FakeClock } from '../../../../test/support/fake-clock.js';
import { Pool } from './pool.js';
import type { PoolListener, PoolPolicy, PoolRequest, Refusal, RefusalReason } from './pool-types.js';

const policy: PoolPolicy = {
  name: 'reasoning',
  bands: [
    { name: 'gold', ceiling: 1, capacity: 3, ttlMs: 60_000 },
    { name: 'silver', ceiling: 0.5, capacity: 0, ttlMs: 60_000 },
    { name: 'bronze', ceiling: 0.5, capacity: 2, ttlMs: 60_000 },
  ],
  defaultBand: 0,
  limit: 2,
  slotsPerEndpoint: 2,
  retryAfterMs: 5000,
  strictReserve: false,
  generates: false,
  gauges: undefined,
};

const asked = (band: number, promptTokens: number, places = 1): PoolRequest => ({
  ...{ tenant: 'a', band, places, promptTokens, cachedTokens: 0, outputTokens: 50, stretchable: false },
});

/** What has become of one request; undefined: it waits. */
class Outcome implements PoolListener {
  became: { refusal: Refusal; retryAfterSeconds: number; why: RefusalReason | undefined } | 'granted' | undefined;
  granted(): void {
    this.became = 'granted';
  }
  refused(refusal: Refusal, retryAfterSeconds: number, why?: RefusalReason): void {
    this.became = { refusal, retryAfterSeconds, why };
  }
}

const poolOf = (): Pool => {
  const pool = new Pool(policy, new FakeClock(), () => 0.5);
  pool.setEndpoints(['10.0.0.1:80']);
  return pool;
};
const ask = (pool: Pool, request: PoolRequest): Outcome => {
  const outcome = new Outcome();
  pool.enqueue(request, outcome);
  return outcome;
};
const BANDS = [0, 1, 2];
const request = fc.record({
  band: fc.constantFrom(...BANDS),
  tokens: fc.integer({ min: 1, max: 50_000 }),
  places: fc.integer({ min: 1, max: 2 }),
});

describe('Refusals', () => {
  it('tells before what asking would come to, whatever is asked for, and nothing where that depends on it', () => {
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 12 }),
        request,
        fc.boolean(),
        (before, { band, tokens, places }, drains) => {
          const pool = poolOf();
          for (const one of before) ask(pool, asked(one.band, one.tokens, one.places));
          if (drains) pool.refusals.draining = true;
          const told = pool.refusals.certain(band, 0);
          expect(BANDS.some((one) => pool.refusals.certain(one, 0) !== undefined)).toBe(pool.refusals.isSomeCertain);
          const waits = BANDS.some((one) => pool.depth(one) > 0);
          const { became } = ask(pool, asked(band, tokens, places));
          if (told !== undefined) expect(became).toEqual(told);
          // Where nobody waits it may have found a place: only then is a refusal not told before.
          else if (waits) expect(became === undefined || became === 'granted').toBe(true);
        },
      ),
    );
  });

  it('asking makes nobody wait and takes no place', () => {
    const pool = poolOf();
    for (let i = 0; i < 5; i += 1) ask(pool, asked(0, 100));
    expect(pool.refusals.certain(0, 0)).toEqual({
      refusal: 'queue-full',
      retryAfterSeconds: 5,
      why: { waiting: 3, waitedMs: 0, heldBy: undefined },
    });
    expect([pool.inUse, pool.depth(0), pool.depth(2)]).toEqual([2, 3, 0]);
    expect(pool.refusals.certain(2, 0)).toBeUndefined();
  });

  it('a band that may not wait is asked as long as nobody does', () => {
    const pool = poolOf();
    expect([pool.refusals.certain(1, 0), pool.refusals.isSomeCertain]).toEqual([undefined, false]);
    expect(ask(pool, asked(1, 100)).became).toBe('granted');
  });
});
