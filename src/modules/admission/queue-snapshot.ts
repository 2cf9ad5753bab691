import type { FlowQueue } from './core/flow-queue.js';
import type { Pool } from './core/pool.js';
import type { TestName, WorkClass } from './core/pool-types.js';
import type { Waiter } from './core/waiter.js';

/** Tenants of a band that are told one by one; all others only count. */
const MOST_TENANTS = 12;

/** Who waits on one upstream. */
export interface QueueSnapshot {
  readonly upstream: string;
  /** Highest first. */
  readonly bands: readonly BandQueue[];
}

/** The line of one band. */
export interface BandQueue {
  readonly band: string;
  readonly depth: number;
  readonly oldestMs: number;
  /** Those whose turn it may be, one a class of work, in the order in which they are tried. */
  readonly heads: readonly QueueHead[];
  /** In the order of their turns. */
  readonly tenants: readonly TenantQueue[];
  /** Beyond those. */
  readonly others: { readonly tenants: number; readonly depth: number };
}

export interface QueueHead {
  /** undefined: nobody has said whose it is. */
  readonly requestId: string | undefined;
  readonly tenant: string;
  readonly kind: WorkClass;
  readonly promptTokens: number;
  readonly waitedMs: number;
  /** Until its patience ends. */
  readonly leftMs: number;
  /** The test that holds it; undefined: it has not been tried yet. */
  readonly heldBy: TestName | undefined;
}

export interface TenantQueue {
  readonly tenant: string;
  readonly depth: number;
  readonly oldestMs: number;
}

export function queueSnapshot({ policy, queues, inUse }: Pool, now: number): QueueSnapshot {
  // While all slots are taken nobody is tried, and what held a head before that is no longer the reason.
  const full = inUse >= policy.limit;
  const heads = (queue: FlowQueue<Waiter>): QueueHead[] => queue.candidates().map((one) => headOf(one, now, full));
  return {
    upstream: policy.name,
    bands: policy.bands.map(({ name }, at) => bandQueue(name, queues[at], heads, now)),
  };
}

const EMPTY = { depth: 0, oldestMs: 0, heads: [], tenants: [], others: { tenants: 0, depth: 0 } };

function bandQueue(
  band: string,
  queue: FlowQueue<Waiter> | undefined,
  heads: (queue: FlowQueue<Waiter>) => QueueHead[],
  now: number,
): BandQueue {
  if (queue === undefined || queue.size === 0) return { band, ...EMPTY };
  const lines = tenantLines(queue);
  const told = lines.slice(0, MOST_TENANTS);
  const toldDepth = told.reduce((sum, { depth }) => sum + depth, 0);
  return {
    band,
    depth: queue.size,
    oldestMs: now - Math.min(...lines.map(({ since }) => since)),
    heads: heads(queue),
    tenants: told.map(({ tenant, depth, since }) => ({ tenant, depth, oldestMs: now - since })),
    others: { tenants: lines.length - told.length, depth: queue.size - toldDepth },
  };
}

interface TenantLine {
  readonly tenant: string;
  /** Service it has had: who has had the least is next. */
  readonly counter: number;
  depth: number;
  since: number;
}

function tenantLines(queue: FlowQueue<Waiter>): TenantLine[] {
  const lines = new Map<string, TenantLine>();
  for (const { request, since, lane } of queue.all()) {
    // Its own name: among gateways a waiter goes by another one, which says nothing to a person.
    const { tenant } = request;
    const line = lines.get(tenant);
    if (line === undefined) lines.set(tenant, { tenant, counter: lane?.flow.counter ?? 0, depth: 1, since });
    else {
      line.depth += 1;
      line.since = Math.min(line.since, since);
    }
  }
  return [...lines.values()].sort((a, b) => a.counter - b.counter || (a.tenant < b.tenant ? -1 : 1));
}

function headOf(waiter: Waiter, now: number, full: boolean): QueueHead {
  const { listener, kind, request, since, deadline, heldBy } = waiter;
  return {
    requestId: listener.requestId,
    tenant: request.tenant,
    kind,
    promptTokens: request.promptTokens,
    waitedMs: now - since,
    leftMs: Math.max(0, deadline - now),
    heldBy: full ? 'limit' : heldBy,
  };
}
