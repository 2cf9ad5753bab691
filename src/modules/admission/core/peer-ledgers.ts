import type { BandActivity } from './band-activity.js';
import type { EndpointLedger, LeaseEntry } from './endpoint-ledger.js';
import type { EndpointSet } from './endpoint-set.js';
import type { FlowQueue } from './flow-queue.js';
import { comesFirst, type KeptClear } from './reservation.js';
import type { SharedBacklog, SharedLease, SharedLedger } from './shared-ledger.js';
import type { Waiter } from './waiter.js';

/** Gateways whose totals are remembered after they have fallen silent: so many restarts of others at most. */
const REMEMBERED = 64;

/** What the ledgers of others are merged into. */
export interface MergeInto {
  readonly endpoints: EndpointSet;
  readonly bands: readonly FlowQueue<Waiter>[];
  readonly activity: BandActivity;
}

/** Somebody who waits on another gateway. */
export interface RemoteHead {
  readonly entry: SharedBacklog;
  /** Since when, on this gateway's clock. */
  readonly since: number;
}

interface Heard {
  readonly ledger: SharedLedger;
  readonly at: number;
}

/** What a tenant had had when it was last told. */
interface Total {
  readonly amount: number;
  /** Which count of it that was; undefined: a gateway of an earlier version does not say. */
  readonly start: number | undefined;
}

/** A gateway's totals, by band and tenant, as they were told last. */
interface Totals {
  readonly epoch: string;
  readonly byBand: readonly ReadonlyMap<string, Total>[];
}

/** What other gateways hold and who waits there, merged when they tell it: a request that comes finds it done. */
export class PeerLedgers {
  /** The endpoint that one of them keeps clear, if it is the first of them to do so. */
  kept: KeptClear | undefined;
  /** Everybody who waits elsewhere. */
  heads: readonly RemoteHead[] = [];
  readonly #peers = new Map<string, Heard>();
  readonly #totals = new Map<string, Totals>();

  constructor(private readonly into: MergeInto) {}

  /** By what name each of them goes. */
  told(): readonly string[] {
    return [...this.#peers.values()].map(({ ledger }) => ledger.epoch);
  }

  /** By band: those where something of it, or of one above it, waits for a place. */
  wanting(): readonly (readonly string[])[] {
    const highest = [...this.#peers.values()].map(({ ledger: { epoch, backlog } }) => ({
      epoch,
      band: Math.min(...backlog.filter(({ wantsPlace }) => wantsPlace).map(({ band }) => band)),
    }));
    return this.into.bands.map((_, index) => highest.filter(({ band }) => band <= index).map(({ epoch }) => epoch));
  }

  get longWaits(): boolean {
    return this.heads.some(({ entry }) => entry.kind === 'long');
  }

  /** All that a gateway has to say now; undefined: it has fallen silent, and what it had is forgotten. */
  hear(peer: string, ledger: SharedLedger | undefined, now: number): void {
    if (ledger === undefined) this.#peers.delete(peer);
    else {
      this.#peers.set(peer, { ledger, at: now });
      this.#charge(peer, ledger);
      this.#noteAges(ledger, now);
    }
    for (const endpoint of this.into.endpoints.current.values()) this.#place(peer, endpoint);
    this.#noteBacklog();
    this.#noteKept();
  }

  /** What others have at an endpoint that is new here. */
  placeAll(endpoint: EndpointLedger): void {
    for (const peer of this.#peers.keys()) this.#place(peer, endpoint);
  }

  #place(peer: string, endpoint: EndpointLedger): void {
    const heard = this.#peers.get(peer);
    const leases = heard?.ledger.leases.filter((lease) => lease.endpoint === endpoint.id) ?? [];
    endpoint.setRemote(
      peer,
      leases.map((lease) => entryFrom(lease, heard?.at ?? 0)),
    );
  }

  #noteAges({ leases, topBandAgoMs, longAgoMs }: SharedLedger, now: number): void {
    const { activity } = this.into;
    if (topBandAgoMs !== undefined) activity.heardTopBand(now - topBandAgoMs);
    if (longAgoMs !== undefined) activity.heardLong(now - longAgoMs);
    for (const { band, grantedAgoMs } of leases) activity.heardGrant(band, now - grantedAgoMs);
  }

  /** Its tenants are charged here for what they have had there since they were last told of. */
  #charge(peer: string, ledger: SharedLedger): void {
    const { epoch } = ledger;
    // There was no room for it: what was told before still holds.
    if (ledger.service.length === 0) return;
    const known = this.#totals.get(peer);
    const byBand = totalsIn(ledger);
    this.#totals.delete(peer);
    this.#totals.set(peer, { epoch, byBand });
    if (this.#totals.size > REMEMBERED) this.#forgetTotals();
    if (known?.epoch !== epoch) return;
    for (const [band, totals] of byBand.entries())
      for (const [tenant, total] of totals) {
        const delta = since(known.byBand[band]?.get(tenant), total);
        if (delta !== 0) this.into.bands[band]?.charge(tenant, delta);
      }
  }

  #forgetTotals(): void {
    const oldest = [...this.#totals.keys()].find((peer) => !this.#peers.has(peer));
    if (oldest !== undefined) this.#totals.delete(oldest);
  }

  #noteKept(): void {
    this.kept = undefined;
    for (const { ledger, at } of this.#peers.values()) {
      if (ledger.kept === undefined) continue;
      const { endpoint, band, places, waitedMs } = ledger.kept;
      const kept = { endpoint, band, places, since: at - waitedMs };
      if (this.kept === undefined || comesFirst(kept, this.kept)) this.kept = kept;
    }
  }

  #noteBacklog(): void {
    this.heads = [...this.#peers.values()].flatMap(({ ledger, at }) =>
      ledger.backlog.map((entry) => ({ entry, since: at - entry.waitedMs })),
    );
    for (const [index, band] of this.into.bands.entries())
      band.setElsewhere(this.heads.filter(({ entry }) => entry.band === index).map(({ entry }) => entry.tenant));
  }
}

const totalsIn = ({ service, starts }: SharedLedger): Totals['byBand'] =>
  service.map(
    (totals, band) => new Map(totals.map(([tenant, amount], at) => [tenant, { amount, start: starts?.[band]?.[at] }])),
  );

/** Less than before is a refund, unless the count has begun anew: then all of it is new. */
const since = (known: Total | undefined, { amount, start }: Total): number =>
  known?.start === start ? amount - (known?.amount ?? 0) : amount;

function entryFrom(lease: SharedLease, heardAt: number): LeaseEntry {
  const { band, kind, places, estimateMs, promptTokens, kvTokens, grantedAgoMs, firstTokenAgoMs } = lease;
  const grantedAt = heardAt - grantedAgoMs;
  const firstTokenAt = firstTokenAgoMs === undefined ? undefined : heardAt - firstTokenAgoMs;
  const work = { promptTokens, uncachedTokens: promptTokens, kvTokens, estimateMs };
  const running = { grantedAt, visible: true, firstTokenAt, remote: true };
  return { band, kind, places, ...work, ...running, at: 0, unseen: false };
}
