import type { Registry } from 'prom-client';
import type { Budgets } from '../budgets/budgets.js';
import { LiveMetric, registerTally } from './tallies.js';

/** Shows who was refused for a budget, and whether budgets are counted together. */
export function showBudgets(registry: Registry, budgets: Pick<Budgets, 'rejected' | 'storeUp'>): void {
  const rejected = () => Object.entries(budgets.rejected).map(([kind, value]) => ({ labels: { kind }, value }));
  const up = () => [{ labels: {}, value: budgets.storeUp ? 1 : 0 }];
  const help = 'Requests refused, by what there was too little of';
  registerTally(registry, new LiveMetric('budget_rejected_total', help, 'counter', rejected));
  registerTally(registry, new LiveMetric('budget_store_up', '0: limits are enforced per replica', 'gauge', up));
}
