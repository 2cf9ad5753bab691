import type { Clock } from '../../common/clock.js';
import type { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { Principal } from '../../common/principal.js';
import { limitsOf, type Limits, type Refusal } from './core/limits.js';
import { refusalProblem } from './core/refusal-problem.js';
import type { Kind } from './core/tenant-window.js';
import { LocalBudgets } from './local-budgets.js';
import { UNLIMITED, type Reservation } from './reservation.js';
import type { SharedBudgets } from './shared-budgets.js';

/** What a tenant may spend in a window. */
interface Allowance {
  readonly requests: number;
  readonly tokens: number;
}

/** The part of the configuration that budgets read. */
export interface BudgetPolicy {
  readonly windowMs: number;
  /** Of each tenant without a budget of its own. */
  readonly default: Allowance;
  readonly tenants: readonly (Allowance & { readonly name: string })[];
}

/** A tenant's budget, and the part of it that one gateway may grant without asking the others. */
interface Budget {
  readonly whole: Limits;
  readonly share: Limits;
}

/** The tenant of all callers that nobody vouches for. Nobody's spending is nobody's budget. */
const ANONYMOUS = 'anonymous';

/** How many requests and tokens each tenant may still spend. */
export class Budgets {
  readonly #tenants: ReadonlyMap<string, Budget>;
  readonly #default: Budget;
  readonly #local: LocalBudgets;
  readonly #rejected: Record<Kind, number> = { requests: 0, tokens: 0 };

  /** `replicas`: the gateways that share the budgets; `shared`: where they keep count together, if they do. */
  constructor(
    private readonly policy: BudgetPolicy,
    replicas: number,
    clock: Clock,
    private readonly shared?: SharedBudgets,
  ) {
    const budget = (of: Allowance): Budget => budgetOf(of, policy.windowMs, replicas);
    this.#tenants = new Map(policy.tenants.map((tenant) => [tenant.name, budget(tenant)]));
    this.#default = budget(policy.default);
    this.#local = new LocalBudgets(policy.windowMs, clock);
  }

  /** false: the shared store is out, and each replica grants its share. */
  get storeUp(): boolean {
    return this.shared?.up ?? true;
  }

  /** Requests that were refused, by what there was too little of. */
  get rejected(): Readonly<Record<Kind, number>> {
    return this.#rejected;
  }

  /**
   * Sets aside one request, and the most tokens that it can come to (0: it takes none). Throws or rejects with the
   * problem of a budget that does not hold it.
   */
  reserve({ tenant }: Principal, tokens: number): Reservation | Promise<Reservation> {
    const budget = this.#budgetOf(tenant);
    if (budget === undefined) return UNLIMITED;
    if (tokens > budget.whole.largestRequest) throw this.#tooLarge(budget.whole, tokens);
    if (this.shared?.up !== true) return this.#locally(tenant, budget, tokens);
    return this.#together(this.shared, tenant, budget, tokens);
  }

  #locally(tenant: string, { share }: Budget, tokens: number): Reservation {
    return this.#granted(this.#local.reserve(tenant, share, tokens), share, tokens);
  }

  async #together(shared: SharedBudgets, tenant: string, budget: Budget, tokens: number): Promise<Reservation> {
    const taken = await shared.reserve(tenant, budget.whole, tokens);
    // The store's trouble is no reason to refuse anybody.
    return taken === undefined ? this.#locally(tenant, budget, tokens) : this.#granted(taken, budget.whole, tokens);
  }

  #granted(taken: Reservation | Refusal, limits: Limits, tokens: number): Reservation {
    if ('settle' in taken) return taken;
    throw this.#refused(taken, limits, tokens);
  }

  #tooLarge(limits: Limits, tokens: number): GatewayProblem {
    const rest = { requests: limits.requests, tokens: limits.tokens };
    return this.#refused({ kind: 'tokens', waitMs: undefined, rest }, limits, tokens);
  }

  #refused(refusal: Refusal, limits: Limits, tokens: number): GatewayProblem {
    this.#rejected[refusal.kind] += 1;
    return refusalProblem(refusal, limits, tokens, this.policy.windowMs);
  }

  #budgetOf(tenant: string): Budget | undefined {
    const own = this.#tenants.get(tenant);
    return own ?? (tenant === ANONYMOUS ? undefined : this.#default);
  }
}

function budgetOf({ requests, tokens }: Allowance, windowMs: number, replicas: number): Budget {
  const part = (of: number): number => Math.max(1, Math.floor(of / replicas));
  return {
    whole: limitsOf({ requests, tokens }, tokens, windowMs),
    share: limitsOf({ requests: part(requests), tokens: part(tokens) }, tokens, windowMs),
  };
}
