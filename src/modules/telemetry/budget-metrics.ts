import type { Registry } from 'prom-client';
import type { Budgets } from '../budgets/budgets.js';
import { registerLive } from './tallies.js';

/** Shows who was refused for a budget, and whether budgets are counted together. */
export function showBudgets(registry: Registry, budgets: Pick<Budgets, 'rejected' | 'storeUp'>): void {
  registerLive(registry, 'budget_rejected_total', () =>
    Object.entries(budgets.rejected).map(([kind, value]) => ({ labels: { kind }, value })),
  );
  registerLive(registry, 'budget_store_up', () => [{ labels: {}, value: budgets.storeUp ? 1 : 0 }]);
}
