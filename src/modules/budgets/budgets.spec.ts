import fc from 'fast-check';
import { FakeClock } from '../../../test/support/fake-clock.js';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { Principal } from '../../common/principal.js';
import { Budgets, type BudgetPolicy } from './budgets.js';
import { LocalBudgets } from './local-budgets.js';
import { limitsOf } from './core/limits.js';
import type { Reservation } from './reservation.js';

const WINDOW_MS = 60_000;
const policy: BudgetPolicy = {
  windowMs: WINDOW_MS,
  default: { requests: 3, tokens: 1000 },
  tenants: [{ name: 'batch', requests: 100, tokens: 50_000 }],
};
const caller = (tenant: string): Principal => ({ tenant, band: 'gold', scopes: undefined });

/** Budgets in memory, where nothing has to be waited for. */
function world({ replicas = 1, of = policy }: { replicas?: number; of?: BudgetPolicy } = {}) {
  const clock = new FakeClock();
  const budgets = new Budgets(of, replicas, clock);
  const reserve = (tokens: number, tenant = 'acme'): Reservation => {
    const taken = budgets.reserve(caller(tenant), tokens);
    if (taken instanceof Promise) throw new Error('memory must not make anybody wait');
    return taken;
  };
  const refusal = (tokens: number, tenant?: string): GatewayProblem => {
    try {
      reserve(tokens, tenant);
    } catch (error) {
      if (error instanceof GatewayProblem) return error;
      throw error;
    }
    throw new Error('it was not refused');
  };
  return { clock, budgets, reserve, refusal };
}
const giveBack = (reservation: Reservation): void => reservation[Symbol.dispose]();
const waitOf = (problem: GatewayProblem): number => problem.options.retryAfterSeconds ?? NaN;

describe('budgets in memory', () => {
  it('hold for the request at hand: what does not fit is refused before it runs', () => {
    const { reserve, refusal, budgets } = world();
    reserve(600);
    const problem = refusal(401);
    expect(problem).toMatchObject({ code: 'budget-exhausted', status: 429, retryable: true });
    expect(problem.options.extensions).toEqual({ budget: 'tokens', limit: 1000, remaining: 400, window: 60 });
    expect(reserve(400).fields).toEqual([
      'ratelimit-policy',
      '"requests";q=3;w=60, "tokens";q=1000;w=60',
      'ratelimit',
      '"requests";r=1;t=60, "tokens";r=0;t=60',
    ]);
    expect(budgets.rejected).toEqual({ requests: 0, tokens: 1 });
  });

  it('count requests too', () => {
    const { reserve, refusal, budgets } = world();
    for (let i = 0; i < 3; i += 1) reserve(1).settle(1);
    expect(refusal(1).options).toMatchObject({
      extensions: { budget: 'requests', limit: 3, remaining: 0 },
      headers: { ratelimit: '"requests";r=0;t=61, "tokens";r=997;t=60' },
    });
    expect(budgets.rejected).toEqual({ requests: 1, tokens: 0 });
  });

  it('are the tenant’s own: one that is named has what is written there, nobody known has none', () => {
    const { reserve, refusal } = world();
    reserve(1000);
    refusal(1);
    reserve(1000, 'bolt');
    reserve(50_000, 'batch');
    refusal(1, 'batch');
    for (let i = 0; i < 10; i += 1) expect(reserve(1_000_000, 'anonymous').fields).toEqual([]);
  });

  it('know an anonymous budget where one is written', () => {
    const named = { ...policy, tenants: [{ name: 'anonymous', requests: 1, tokens: 10 }] };
    const { reserve, refusal } = world({ of: named });
    reserve(10, 'anonymous');
    refusal(1, 'anonymous');
  });

  it('settle by what it came to, and give back what was too much', () => {
    const { reserve, refusal } = world();
    reserve(1000).settle(10);
    const second = reserve(990);
    refusal(1);
    second.settle(0);
    reserve(990);
  });

  it('count what it came to beyond its reservation, to the tenant’s debit', () => {
    const { reserve, refusal } = world();
    reserve(100).settle(1500);
    expect(refusal(1).options.extensions).toMatchObject({ budget: 'tokens', remaining: 0 });
  });

  it('let a request without tokens pass, however many were taken', () => {
    const { reserve, refusal } = world();
    reserve(100).settle(1500);
    refusal(1);
    reserve(0);
  });

  it('give everything back of what never happened, and each thing once', () => {
    const { reserve } = world();
    for (let i = 0; i < 10; i += 1) {
      const reservation = reserve(1000);
      giveBack(reservation);
      giveBack(reservation);
      reservation.settle(500);
    }
    const last = reserve(1000);
    last.settle(1000);
    giveBack(last);
    expect(() => reserve(1)).toThrow(GatewayProblem);
  });

  it('are back after the window, and no part of one is back before', () => {
    const { clock, reserve, refusal } = world();
    clock.advance(500);
    reserve(1000).settle(1000);
    clock.advance(WINDOW_MS);
    refusal(1);
    clock.advance(1000);
    reserve(1000);
  });

  it('say when this very request would fit', () => {
    const { clock, reserve, refusal } = world();
    reserve(300).settle(300);
    clock.advance(20_000);
    reserve(700).settle(700);
    clock.advance(10_000);
    expect(waitOf(refusal(300))).toBe(31);
    const wait = waitOf(refusal(301));
    expect(wait).toBe(51);
    clock.advance(wait * 1000 - 1);
    refusal(301);
    clock.advance(1);
    reserve(301);
  });

  it('tell a request that is larger than the whole budget that no wait will help', () => {
    const { refusal, budgets } = world();
    const problem = refusal(1001);
    expect(problem.retryable).toBe(false);
    expect(problem.options.retryAfterSeconds).toBeUndefined();
    expect(problem.message).toBe(
      'This request may take up to 1001 tokens, more than the 1000 that this tenant may take in 60 s: it needs a lower limit of output tokens, or a shorter prompt.',
    );
    expect(budgets.rejected.tokens).toBe(1);
  });

  it('are shared out among replicas that do not know of each other, by at most one request too much', () => {
    const { reserve, refusal, clock } = world({ replicas: 3 });
    const first = reserve(900);
    expect(first.fields[1]).toBe('"requests";q=1;w=60, "tokens";q=333;w=60');
    refusal(1);
    clock.advance(61_000);
    reserve(900);
  });

  it('say when a request that is larger than a share would fit: once nothing else is counted', () => {
    const { clock, reserve, refusal } = world({ replicas: 2 });
    reserve(100).settle(100);
    clock.advance(30_000);
    const wait = waitOf(refusal(800));
    expect(wait).toBe(31);
    clock.advance(wait * 1000 - 1);
    refusal(800);
    clock.advance(1);
    reserve(800);
  });

  it('never hold more than so many tenants, and forget those that have been away the longest', () => {
    const clock = new FakeClock();
    const limits = limitsOf({ requests: 1, tokens: 10 }, 10, WINDOW_MS);
    const local = new LocalBudgets(WINDOW_MS, clock, 100);
    const granted = (tenant: string): boolean => 'settle' in local.reserve(tenant, limits, 1);
    granted('first');
    for (let i = 0; i < 1000; i += 1) granted(`tenant-${String(i)}`);
    expect(local.size).toBe(100);
    expect(granted('tenant-950')).toBe(false);
    expect(granted('first')).toBe(true);
  });

  it('forget whoever has asked for nothing the longest, whatever has been settled meanwhile', () => {
    const clock = new FakeClock();
    const limits = limitsOf({ requests: 3, tokens: 1000 }, 1000, WINDOW_MS);
    const local = new LocalBudgets(WINDOW_MS, clock, 2);
    const ask = (tenant: string): Reservation => {
      const taken = local.reserve(tenant, limits, 10);
      if ('kind' in taken) throw new Error(`${tenant} was refused`);
      return taken;
    };
    let busy = ask('busy');
    ask('idle');
    for (let i = 0; i < 2; i += 1) {
      clock.advance(1000);
      busy.settle(5);
      busy = ask('busy');
    }
    ask('newcomer');
    expect(local.reserve('busy', limits, 10)).toMatchObject({ kind: 'requests' });
  });

  it('still take a settlement when its window has long passed', () => {
    const { clock, reserve, refusal } = world();
    const early = reserve(1000);
    clock.advance(10 * WINDOW_MS);
    early.settle(10);
    reserve(1000);
    clock.advance(10 * WINDOW_MS);
    const longer = reserve(100);
    clock.advance(10 * WINDOW_MS);
    longer.settle(1050);
    expect(refusal(51).options.extensions).toMatchObject({ remaining: 50 });
  });
});

/** What a tenant does: asks for tokens, ends one of its requests in some way, or lets time pass. */
type Step =
  | { readonly ask: number }
  | { readonly end: number; readonly use: number }
  | { readonly drop: number }
  | { readonly passMs: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ask: fc.nat(400) }) },
  { weight: 2, arbitrary: fc.record({ end: fc.nat(20), use: fc.double({ min: 0, max: 1, noNaN: true }) }) },
  { weight: 1, arbitrary: fc.record({ drop: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ passMs: fc.nat(30_000) }) },
);

/** A plain book of the same tenant: every grant with its time and what it counts for now. */
interface Grant {
  readonly at: number;
  readonly reserved: number;
  tokens: number;
  requests: number;
  readonly reservation: Reservation;
}

describe('whatever a tenant does', () => {
  const LIMITS = { requests: 12, tokens: 1000 };
  const run = (steps: readonly Step[], check: (now: number, grants: readonly Grant[]) => void, replicas = 1) => {
    const clock = new FakeClock();
    const budgets = new Budgets({ windowMs: WINDOW_MS, default: LIMITS, tenants: [] }, replicas, clock);
    const grants: Grant[] = [];
    const open: Grant[] = [];
    const takeOpen = (at: number): Grant | undefined => open.splice(at % Math.max(1, open.length), 1)[0];
    for (const one of steps) {
      if ('passMs' in one) clock.advance(one.passMs);
      else if ('ask' in one) {
        try {
          const reservation = budgets.reserve(caller('acme'), one.ask) as Reservation;
          const grant = { at: clock.now(), reserved: one.ask, tokens: one.ask, requests: 1, reservation };
          grants.push(grant);
          open.push(grant);
        } catch (error) {
          expect(error).toBeInstanceOf(GatewayProblem);
        }
      } else {
        const grant = takeOpen('end' in one ? one.end : one.drop);
        if (grant === undefined) continue;
        if ('end' in one) {
          grant.tokens = Math.round(grant.reserved * one.use);
          grant.reservation.settle(grant.tokens);
        } else Object.assign(grant, { tokens: 0, requests: 0 });
        giveBack(grant.reservation);
      }
      check(clock.now(), grants);
    }
    return { clock, budgets };
  };
  const sumOf = (grants: readonly Grant[], from: number, of: 'tokens' | 'requests'): number =>
    grants.filter(({ at }) => at > from).reduce((sum, grant) => sum + grant[of], 0);

  it('no stretch of the window’s length ever holds more than the budget', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        run(steps, (now, grants) => {
          expect(sumOf(grants, now - WINDOW_MS, 'tokens')).toBeLessThanOrEqual(LIMITS.tokens);
          expect(sumOf(grants, now - WINDOW_MS, 'requests')).toBeLessThanOrEqual(LIMITS.requests);
        });
      }),
      { numRuns: 300 },
    );
  });

  it('of a share, a refused request fits when it was told, and not a slice before', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 1000 }), (steps, ask) => {
        const { clock, budgets } = run(steps, () => undefined, 3);
        const refusedFor = (): number | undefined => {
          try {
            giveBack(budgets.reserve(caller('acme'), ask) as Reservation);
            return undefined;
          } catch (error) {
            return (error as GatewayProblem).options.retryAfterSeconds;
          }
        };
        const seconds = refusedFor();
        if (seconds === undefined) return;
        expect(seconds * 1000).toBeLessThanOrEqual(WINDOW_MS + 1000);
        clock.advance(seconds * 1000 - 1);
        expect(refusedFor()).toBeDefined();
        clock.advance(1);
        expect(refusedFor()).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });

  it('a refusal is never wrong by more than a slice, and what is left is never negative', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.nat(1000), (steps, ask) => {
        let grants: readonly Grant[] = [];
        const { clock, budgets } = run(steps, (_, all) => (grants = all));
        const from = clock.now() - WINDOW_MS - 1000;
        const tokens = sumOf(grants, from, 'tokens');
        const requests = sumOf(grants, from, 'requests');
        const fits = tokens + ask <= LIMITS.tokens && requests + 1 <= LIMITS.requests;
        try {
          const { fields } = budgets.reserve(caller('acme'), ask) as Reservation;
          expect(fields[3]).not.toContain('=-');
        } catch (error) {
          expect(fits).toBe(false);
          const { headers, retryAfterSeconds = NaN } = (error as GatewayProblem).options;
          expect(headers?.['ratelimit']).not.toContain('=-');
          clock.advance(Math.ceil(retryAfterSeconds * 1000));
          expect(() => budgets.reserve(caller('acme'), ask)).not.toThrow();
        }
      }),
      { numRuns: 300 },
    );
  });

  it('once everything is given back, the whole budget is there at once', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(400), { maxLength: 30 }), (asks) => {
        const clock = new FakeClock();
        const budgets = new Budgets({ windowMs: WINDOW_MS, default: LIMITS, tenants: [] }, 1, clock);
        const held: Reservation[] = [];
        for (const ask of asks) {
          try {
            held.push(budgets.reserve(caller('acme'), ask) as Reservation);
          } catch (error) {
            expect(error).toBeInstanceOf(GatewayProblem);
          }
        }
        held.forEach(giveBack);
        const { fields } = budgets.reserve(caller('acme'), 1000) as Reservation;
        expect(fields[3]).toBe('"requests";r=11;t=60, "tokens";r=0;t=60');
      }),
    );
  });
});
