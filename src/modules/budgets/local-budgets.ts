import type { Clock } from '../../common/clock.js';
import { fieldsOf, refusalOf, type Limits, type Refusal } from './core/limits.js';
import { sliceMsOf, TenantWindow, type Kind } from './core/tenant-window.js';
import type { Reservation } from './reservation.js';

/** Tenants whose spending is remembered; then the one that has been away the longest is forgotten. */
const REMEMBERED = 10_000;

/** Time, as budgets count it. */
interface Slices {
  readonly windowMs: number;
  /** The number of the slice that time is in. */
  current(): number;
}

/** What has been spent through this gateway, by tenant, in its own memory. */
export class LocalBudgets {
  /** Whoever has been away the longest comes first. */
  readonly #windows = new Map<string, TenantWindow>();
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
    return this.#windows.size;
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
    let window = this.#windows.get(tenant);
    if (window !== undefined && !window.moveTo(slice)) return window;
    if (window === undefined) {
      if (this.#windows.size >= this.remembered) this.#forgetOne();
      window = new TenantWindow(slice);
    } else this.#windows.delete(tenant);
    this.#windows.set(tenant, window);
    return window;
  }

  #forgetOne(): void {
    for (const tenant of this.#windows.keys()) {
      this.#windows.delete(tenant);
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
