import type { FlowQueue } from './core/flow-queue.js';
import type { Pool } from './core/pool.js';
import type { TestName, WorkClass } from './core/pool-types.js';
import type { Waiter } from './core/waiter.js';

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
  /** What it has had, in token equivalents: who has had the least is next. */
  readonly service: number;
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

const EMPTY = { depth: 0, oldestMs: 0, heads: [], tenants: [] };

function bandQueue(
  band: string,
  queue: FlowQueue<Waiter> | undefined,
  heads: (queue: FlowQueue<Waiter>) => QueueHead[],
  now: number,
): BandQueue {
  if (queue === undefined || queue.size === 0) return { band, ...EMPTY };
  const lines = tenantLines(queue);
  return {
    band,
    depth: queue.size,
    oldestMs: now - Math.min(...lines.map(({ since }) => since)),
    heads: heads(queue),
    tenants: lines.map(({ since, ...line }) => ({ ...line, oldestMs: now - since })),
  };
}

interface TenantLine {
  readonly tenant: string;
  readonly service: number;
  depth: number;
  since: number;
}

function tenantLines(queue: FlowQueue<Waiter>): TenantLine[] {
  const lines = new Map<string, TenantLine>();
  for (const { request, since, lane } of queue.all()) {
    // Its own name: among gateways a waiter goes by another one, which says nothing to a person.
    const { tenant } = request;
    const line = lines.get(tenant);
    if (line === undefined) lines.set(tenant, { tenant, service: lane?.flow.counter ?? 0, depth: 1, since });
    else {
      line.depth += 1;
      line.since = Math.min(line.since, since);
    }
  }
  return [...lines.values()].sort(byTurn);
}

/** Who has had the least service first. */
export const byTurn = (
  a: Pick<TenantQueue, 'tenant' | 'service'>,
  b: Pick<TenantQueue, 'tenant' | 'service'>,
): number => a.service - b.service || (a.tenant < b.tenant ? -1 : 1);

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
