import type { BandActivity } from './band-activity.js';
import type { EndpointLedger, LeaseEntry } from './endpoint-ledger.js';
import type { FlowQueue } from './flow-queue.js';
import type { TestName } from './pool-types.js';
import type { KeptClear } from './reservation.js';
import type { SharedBacklog, SharedKept, SharedLease, SharedLedger } from './shared-ledger.js';
import type { Waiter } from './waiter.js';

/** Told at most of one band: tenants that have been served, those of late; and lines that wait. */
const MOST_TENANTS = 256;
const MOST_LINES = 256;

/** What no free place changes. */
const NO_ROOM_HELPS: ReadonlySet<TestName | undefined> = new Set<TestName>(['ready']);

/** What there is to tell of. */
export interface OwnState {
  readonly endpoints: Iterable<EndpointLedger>;
  readonly bands: readonly FlowQueue<Waiter>[];
  readonly activity: BandActivity;
  readonly kept: KeptClear | undefined;
  /** Not told: if the store refuses them, others would go on counting places that nobody has. */
  readonly claimed: ReadonlySet<LeaseEntry>;
}

/** What a tenant has had since its count began. */
interface Total {
  amount: number;
  /** The number of that beginning: no two counts of this gateway have the same. */
  readonly start: number;
}

/** What this gateway tells others of one pool. */
export class OwnLedger {
  readonly #totals: readonly Map<string, Total>[];
  #starts = 0;

  constructor(
    private readonly epoch: string,
    bands: number,
  ) {
    this.#totals = Array.from({ length: bands }, () => new Map<string, Total>());
  }

  /** A tenant has had so much more; negative: less. */
  charge(band: number, tenant: string, amount: number): void {
    const totals = this.#totals[band];
    if (totals === undefined) return;
    const total = totals.get(tenant) ?? { amount: 0, start: (this.#starts += 1) };
    total.amount += amount;
    // The one that was served last stands last, and the first is the one to go.
    totals.delete(tenant);
    totals.set(tenant, total);
    for (const oldest of totals.keys()) {
      if (totals.size <= MOST_TENANTS) break;
      totals.delete(oldest);
    }
  }

  tell({ endpoints, bands, activity, kept, claimed }: OwnState, now: number): SharedLedger {
    const topBandAgoMs = activity.topBandAgoMs(now);
    const longAgoMs = activity.longAgoMs(now);
    return {
      epoch: this.epoch,
      leases: [...endpoints].flatMap((endpoint) => leasesAt(endpoint, claimed, now)),
      service: this.#totals.map((totals) => [...totals].map(([tenant, { amount }]) => [tenant, Math.round(amount)])),
      starts: this.#totals.map((totals) => [...totals.values()].map(({ start }) => start)),
      backlog: bands.flatMap((band, index) => backlogOf(band, index, now)),
      ...(kept === undefined ? {} : { kept: keptFrom(kept, now) }),
      ...(topBandAgoMs === undefined ? {} : { topBandAgoMs }),
      ...(longAgoMs === undefined ? {} : { longAgoMs }),
    };
  }
}

function leasesAt(endpoint: EndpointLedger, claimed: ReadonlySet<LeaseEntry>, now: number): readonly SharedLease[] {
  // Prefills that show no end are over once they have been looked at late enough.
  endpoint.backlogMs(now);
  return [...endpoint.leases]
    .filter((entry) => !entry.remote && !claimed.has(entry))
    .map((entry) => leaseFrom(entry, endpoint.id, now));
}

/** A lease as others are told of it. */
export function leaseFrom(entry: LeaseEntry, endpoint: string, now: number): SharedLease {
  const { band, kind, places, kvTokens, promptTokens, estimateMs, grantedAt, firstTokenAt } = entry;
  const lease = { endpoint, band, kind, places, kvTokens, promptTokens, estimateMs, grantedAgoMs: now - grantedAt };
  return firstTokenAt === undefined ? lease : { ...lease, firstTokenAgoMs: now - firstTokenAt };
}

const keptFrom = ({ endpoint, band, places, since }: KeptClear, now: number): SharedKept => ({
  endpoint,
  band,
  places,
  waitedMs: now - since,
});

function backlogOf(queue: FlowQueue<Waiter>, band: number, now: number): readonly SharedBacklog[] {
  const lines: SharedBacklog[] = [];
  for (const { head, counter } of queue.lines()) {
    if (lines.length === MOST_LINES) break;
    const { kind, tenant, since, heldBy } = head;
    lines.push({ band, kind, tenant, counter, waitedMs: now - since, wantsPlace: !NO_ROOM_HELPS.has(heldBy) });
  }
  return lines;
}
