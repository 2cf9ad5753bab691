import type { Clock } from '../../common/clock.js';
import { fieldsOf, refusalOf, type Limits, type Refusal } from './core/limits.js';
import { sliceMsOf, TenantWindow, type Kind } from './core/tenant-window.js';
import type { Reservation } from './reservation.js';

/** Tenants whose spending is remembered; then the one that has been away the longest is forgotten. */
const REMEMBERED = 10_000;
const NEVER = -1;

/** Time, as budgets count it. */
interface Slices {
  readonly windowMs: number;
  /** The number of the slice that time is in. */
  current(): number;
}

/** A tenant whose spending is remembered. */
interface Known {
  readonly window: TenantWindow;
  /** The slice in which it last asked. What it had asked for earlier may have been settled since. */
  askedIn: number;
}

/** What has been spent through this gateway, by tenant, in its own memory. */
export class LocalBudgets {
  /** Whoever has asked for nothing the longest comes first, to a slice. */
  readonly #known = new Map<string, Known>();
  readonly #sliceMs: number;
  readonly #slices: Slices;

  constructor(
    windowMs: number,
    private readonly clock: Clock,
    private readonly remembered = REMEMBERED,
  ) {
    const sliceMs = sliceMsOf(windowMs);
    this.#sliceMs = sliceMs;
    this.#slices = { windowMs, current: () => Math.floor(clock.now() / sliceMs) };
  }

  /** Tenants whose spending is remembered. */
  get size(): number {
    return this.#known.size;
  }

  /** Sets one request and so many tokens aside, or says why that cannot be. */
  reserve(tenant: string, limits: Limits, tokens: number): Reservation | Refusal {
    const slice = this.#slices.current();
    const window = this.#windowOf(tenant, slice);
    const needed = {
      requests: window.requests + 1 - limits.requests,
      tokens: tokensNeeded(window, limits, tokens),
    };
    if (needed.requests > 0 || needed.tokens > 0) return this.#refusal(window, limits, needed);
    window.spend(1, tokens);
    return new LocalReservation(this.#slices, window, slice, tokens, limits);
  }

  #refusal(window: TenantWindow, limits: Limits, needed: Record<Kind, number>): Refusal {
    const rest = { requests: limits.requests - window.requests, tokens: limits.tokens - window.tokens };
    const sinceSliceMs = this.clock.now() % this.#sliceMs;
    const waitMs = (kind: Kind): number => {
      const slices = window.slicesUntil(kind, needed[kind]);
      return slices === 0 ? 0 : slices * this.#sliceMs - sinceSliceMs;
    };
    return refusalOf({ requests: waitMs('requests'), tokens: waitMs('tokens') }, rest);
  }

  #windowOf(tenant: string, slice: number): TenantWindow {
    const known = this.#known.get(tenant) ?? this.#newcomer(slice);
    if (known.askedIn !== slice) {
      known.askedIn = slice;
      known.window.moveTo(slice);
      this.#known.delete(tenant);
      this.#known.set(tenant, known);
    }
    return known.window;
  }

  #newcomer(slice: number): Known {
    if (this.#known.size >= this.remembered) this.#forgetOne();
    return { window: new TenantWindow(slice), askedIn: NEVER };
  }

  #forgetOne(): void {
    for (const tenant of this.#known.keys()) {
      this.#known.delete(tenant);
      return;
    }
  }
}

/** What has to be forgotten of a tenant's tokens before so many more fit. */
function tokensNeeded(window: TenantWindow, limits: Limits, tokens: number): number {
  // What takes no tokens is not held up by those that others have taken.
  if (tokens === 0) return 0;
  if (window.tokens <= 0) return tokens - limits.largestRequest;
  // One request may be larger than a share of the budget: it waits until nothing else is counted, and no longer.
  return Math.min(window.tokens + tokens - limits.tokens, window.tokens);
}

class LocalReservation implements Reservation {
  #settled = false;
  readonly #restRequests: number;
  readonly #restTokens: number;

  constructor(
    private readonly slices: Slices,
    private readonly window: TenantWindow,
    private readonly slice: number,
    private readonly tokens: number,
    private readonly limits: Limits,
  ) {
    this.#restRequests = limits.requests - window.requests;
    this.#restTokens = limits.tokens - window.tokens;
  }

  get fields(): readonly string[] {
    return fieldsOf(this.limits, { requests: this.#restRequests, tokens: this.#restTokens }, this.slices.windowMs);
  }

  settle(tokens: number): void {
    this.#correct(0, tokens - this.tokens);
  }

  [Symbol.dispose](): void {
    this.#correct(-1, -this.tokens);
  }

  #correct(requests: number, tokens: number): void {
    if (this.#settled) return;
    this.#settled = true;
    this.window.moveTo(this.slices.current());
    this.window.correct(this.slice, requests, tokens);
  }
}
