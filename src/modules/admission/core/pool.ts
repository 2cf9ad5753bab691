import type { Clock } from '../../../common/clock.js';
import type { PoolView } from './admission-tests.js';
import { AmongGateways } from './among-gateways.js';
import { BandActivity } from './band-activity.js';
import { claimOf } from './claim-of.js';
import { Claims, type ClaimHooks } from './claims.js';
import { EndpointChoice, type Held } from './endpoint-choice.js';
import { EndpointLedger } from './endpoint-ledger.js';
import { entryOf, HeldLease, type Holding, type LeaseHooks } from './held-lease.js';
import type { GaugeReading, PoolListener, PoolPolicy, PoolRequest, Refusal, TestName, Ticket } from './pool-types.js';
import { workClassOf } from './prefill-rate.js';
import { Reservation } from './reservation.js';
import { DrainRate, retryAfterSeconds } from './retry-after.js';
import type { SharedLedger } from './shared-ledger.js';
import type { PoolSharing } from './sharing.js';
import { kvTokensOf, patienceMs, prefillEstimateMs } from './sizing.js';
import { Ticker } from './ticker.js';
import { TenantTotals } from './tenant-totals.js';
import { virtualCost } from './virtual-cost.js';
import { candidateOf, Waiter } from './waiter.js';
import { WaitingRoom } from './waiting-room.js';

const TICK_MS = 250;
const MOST_TRIES = 3;
const NO_TICKET: Ticket = { cancel: () => undefined };
const heldByThis = (heldBy: TestName): Held => ({ endpoint: undefined, heldBy, gaugesAlone: false });
const AT_LIMIT = heldByThis('limit');
const YIELDS = heldByThis('yield');
const NOT_CONFIRMED = heldByThis('claim');

/**
 * Who runs next on one upstream: bands from high to low, within a band the tenant that has had the least service, on
 * the endpoint that has the least to do, once every test is passed. Framework-free; time is the clock's.
 */
export class Pool {
  readonly endpoints = new Map<string, EndpointLedger>();
  /** How often a head was held back by each test. */
  readonly held = new Map<TestName, number>();
  /** By band: service received, in token equivalents. */
  readonly received: readonly TenantTotals[];
  readonly #room: WaitingRoom;
  /** undefined: there is no other gateway. */
  readonly #among: AmongGateways | undefined;
  readonly #claims: Claims | undefined;
  readonly #activity: BandActivity;
  readonly #drain = new DrainRate();
  readonly #choice: EndpointChoice;
  readonly #reservation: Reservation;
  readonly #ticker: Ticker;
  #ordered: EndpointLedger[] = [];
  #inUse = 0;
  #asked = 0;
  #draining = false;
  #pumping = false;

  constructor(
    readonly policy: PoolPolicy,
    private readonly clock: Clock,
    private readonly random: () => number,
    sharing?: PoolSharing,
  ) {
    this.#room = new WaitingRoom(policy.bands.length);
    this.received = policy.bands.map(() => new TenantTotals());
    this.#activity = new BandActivity(policy.bands.length, clock.now());
    this.#choice = new EndpointChoice(policy);
    this.#reservation = new Reservation(this.#choice);
    this.#ticker = new Ticker(clock, TICK_MS, () => {
      this.#expire();
      this.#pump();
    });
    if (sharing === undefined) return;
    const { endpoints } = this;
    this.#among = new AmongGateways(sharing, { endpoints, bands: this.#room.bands, activity: this.#activity });
    if (sharing.store !== undefined) this.#claims = new Claims(sharing.store, sharing.epoch, this.#hooks);
  }

  get inUse(): number {
    return this.#inUse;
  }

  depth(band: number): number {
    return this.#room.bands[band]?.size ?? 0;
  }

  /** The endpoints that there are now. One that is new is empty; one that is gone takes no more requests. */
  setEndpoints(ids: readonly string[]): void {
    for (const id of this.endpoints.keys()) if (!ids.includes(id)) this.endpoints.delete(id);
    for (const id of ids) if (!this.endpoints.has(id)) this.#add(new EndpointLedger(id, this.policy.slotsPerEndpoint));
    this.#ordered = [...this.endpoints.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#pump();
  }

  #add(endpoint: EndpointLedger): void {
    this.endpoints.set(endpoint.id, endpoint);
    this.#among?.peers.placeAll(endpoint);
  }

  /** A good poll of an endpoint; undefined: its gauges have become too old. */
  read(id: string, reading: GaugeReading | undefined): void {
    const endpoint = this.endpoints.get(id);
    if (endpoint === undefined) return;
    if (reading === undefined) endpoint.forgetReading();
    else endpoint.read(reading, this.#among?.termsOf(reading, this.clock.now()));
    this.#pump();
  }

  /** What other gateways are to know of this pool; undefined: there are none. */
  shared(now: number): SharedLedger | undefined {
    return this.#among?.tell(now);
  }

  /** What another gateway has told of its pool; undefined: it has fallen silent. */
  remote(peer: string, ledger: SharedLedger | undefined): void {
    this.#among?.peers.hear(peer, ledger, this.clock.now());
    this.#pump();
  }

  /** What others hold, or whether the store counts, has changed in a way that is not told by `remote`. */
  sharingChanged(): void {
    this.#pump();
  }

  /** Asks for a place. The listener is called once, perhaps before this returns. */
  enqueue(request: PoolRequest, listener: PoolListener): Ticket {
    // One reading of the clock: who finds a place at once has waited for exactly no time.
    const now = this.clock.now();
    const band = this.#room.bands[request.band];
    if (band === undefined) throw new RangeError(`no band ${request.band}`);
    const waiter = this.#waiterOf(request, listener, { since: now, tries: 0, order: (this.#asked += 1) });
    this.#activity.asked(request.band, now);
    if (this.#room.isEmpty && this.#tryGrant(waiter, now)) return this.#claims === undefined ? NO_TICKET : waiter;
    if (this.#draining) return this.#refuse(waiter, 'draining');
    if (band.size >= (this.policy.bands[request.band]?.capacity ?? 0)) return this.#refuse(waiter, 'queue-full');
    return this.#wait(waiter, now);
  }

  /** From now on nobody joins the queue, and who waits in it without having been sent anything is refused. */
  drain(): void {
    this.#draining = true;
    for (const waiter of this.#room.all()) if (!waiter.isCommitted) this.#leave(waiter, 'draining');
  }

  /** The drain may last no longer: whoever still waits is refused, whatever it has been sent. */
  endDrain(): void {
    for (const waiter of [...this.#room.all(), ...(this.#claims?.waiters() ?? [])]) this.#leave(waiter, 'draining');
  }

  #waiterOf(request: PoolRequest, listener: PoolListener, came: Pick<Waiter, 'since' | 'tries' | 'order'>): Waiter {
    const estimateMs = prefillEstimateMs(this.policy, this.#ordered, request);
    const deadline = came.since + patienceMs(this.policy, request, estimateMs);
    const kind = workClassOf(estimateMs);
    const tenant = this.#among === undefined ? request.tenant : this.#among.sharing.tenantKey(request.tenant);
    const { since, tries, order } = came;
    const leave = this.#cancel;
    return new Waiter({ request, tenant, listener, kind, estimateMs, since, tries, order, deadline, leave });
  }

  #wait(waiter: Waiter, now: number): Ticket {
    this.#room.enter(waiter, false);
    this.#pump(now);
    this.#keepTime();
    this.#tellOthers();
    return waiter;
  }

  /** Ticks while somebody's patience may end. */
  #keepTime(): void {
    if (this.#room.isEmpty && this.#claims?.isEmpty !== false) this.#ticker.stop();
    else this.#ticker.start();
  }

  #tellOthers(): void {
    this.#among?.sharing.changed?.();
  }

  /** Takes a waiter out of the queue; false: it did not wait any more. */
  #forget(waiter: Waiter): boolean {
    if (!this.#room.leave(waiter)) return false;
    this.#reservation.ended(waiter);
    if (this.#room.isEmpty) this.#keepTime();
    return true;
  }

  readonly #cancel = (waiter: Waiter): void => {
    const keptRoom = this.#reservation.kept?.waiter === waiter;
    const claimed = this.#claims?.abandon(waiter);
    if (claimed !== undefined) this.#takeBack(claimed);
    else this.#forget(waiter);
    this.#tellOthers();
    if (keptRoom || claimed !== undefined) this.#pump();
  };

  #refuse(waiter: Waiter, refusal: Refusal): Ticket {
    const now = this.clock.now();
    const ahead = this.#room.bands.slice(0, waiter.request.band + 1);
    const workMs = this.#drain.msAhead(ahead, this.#ordered.length, now);
    const seconds = retryAfterSeconds(workMs, this.policy.retryAfterMs, this.random());
    waiter.listener.refused(refusal, seconds, waiter.reason(this.depth(waiter.request.band), now));
    return NO_TICKET;
  }

  #leave(waiter: Waiter, refusal: Refusal): void {
    const claimed = this.#claims?.abandon(waiter);
    if (claimed !== undefined) this.#takeBack(claimed);
    if (this.#forget(waiter) || claimed !== undefined) this.#refuse(waiter, refusal);
  }

  /** Grants as long as somebody fits. */
  #pump(now = this.clock.now()): void {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (!this.#room.isEmpty && this.#inUse < this.policy.limit && this.#grantOne(now));
    } finally {
      this.#pumping = false;
    }
  }

  #grantOne(now: number): boolean {
    const { kept } = this.#reservation;
    for (const [index, band] of this.#room.bands.entries()) {
      if (band.size === 0) continue;
      if (kept?.band === index && this.#tryGrant(kept.waiter, now)) return true;
      for (const head of band.candidates()) if (this.#tryGrant(head, now)) return true;
    }
    return false;
  }

  #tryGrant(waiter: Waiter, now: number): boolean {
    const kvTokens = kvTokensOf(this.policy, waiter.request);
    const candidate = candidateOf(waiter, kvTokens, now, waiter === this.#reservation.kept?.waiter);
    const view = this.#view(now);
    const choice = this.#hasRoomFor(waiter)
      ? this.#choice.choose(candidate, view, this.#activity.lastLongAt)
      : AT_LIMIT;
    if (choice.endpoint === undefined) {
      this.#hold(waiter, choice, now);
      this.#reservation.held(waiter, candidate, view);
      return false;
    }
    if (this.#among?.yields(waiter, now) === true) {
      this.#hold(waiter, YIELDS, now);
      return false;
    }
    return this.#grant(waiter, choice.endpoint, kvTokens, view);
  }

  #hasRoomFor(waiter: Waiter): boolean {
    const inUse = this.#placesTaken();
    if (inUse === 0) return true;
    const limit = this.#among?.share?.mostOverall(this.policy.limit, this.#ordered) ?? this.policy.limit;
    const kept = this.#reservation.placesKeptFrom(waiter);
    return inUse + waiter.request.places + kept <= limit;
  }

  /** Over all gateways, as far as it is known. */
  #placesTaken(): number {
    if (this.#among === undefined) return this.#inUse;
    const told = this.#among.share === undefined;
    let places = this.#inUse;
    for (const one of this.#ordered) places += (told ? one.places : one.occupied()) - one.ownPlaces;
    return places;
  }

  #hold(waiter: Waiter, { heldBy, gaugesAlone }: Held, now: number): void {
    if (waiter.heldBy !== heldBy) {
      waiter.heldBy = heldBy;
      this.held.set(heldBy, (this.held.get(heldBy) ?? 0) + 1);
    }
    waiter.gaugeHeldSince = gaugesAlone ? (waiter.gaugeHeldSince ?? now) : undefined;
  }

  #view(now: number): PoolView {
    return {
      policy: this.policy,
      now,
      endpoints: this.#ordered,
      lane: this.#ordered.find(({ downUntil }) => now >= downUntil) ?? this.#ordered[0],
      topBandAround: this.#activity.topBandAround(now),
      longWaits: this.#room.longWaits || this.#among?.peers.longWaits === true,
      reserved: this.#reservation.kept,
      share: this.#among?.share,
      starved: (band) =>
        this.#activity.isStarved(band, this.#room.bands[band]?.candidates()[0], now) && !this.#runsElsewhere(band),
    };
  }

  #runsElsewhere(band: number): boolean {
    if (this.#among === undefined) return false;
    return this.#ordered.some(({ leases }) => [...leases].some((lease) => lease.remote && lease.band === band));
  }

  /** Takes a place; false: the store knows of others who have it, and the request stands where it stood. */
  #grant(waiter: Waiter, endpoint: EndpointLedger, kvTokens: number, view: PoolView): boolean {
    const waited = this.#forget(waiter);
    const claim = this.#claims && claimOf(this.#claims.nextId(), waiter, { endpoint, kvTokens }, view);
    const holding = this.#take(waiter, endpoint, kvTokens, view.now, claim?.id);
    const answer = claim === undefined ? true : this.#claims?.ask(holding, claim);
    if (answer === true) this.#deliver(holding);
    else if (answer === undefined) this.#keepTime();
    else {
      this.#takeBack(holding);
      this.#hold(waiter, NOT_CONFIRMED, view.now);
      if (waited) this.#comeBack(waiter);
    }
    return answer !== false;
  }

  /** From the decision on the place is counted, and its tenant charged. */
  #take(waiter: Waiter, ledger: EndpointLedger, kvTokens: number, now: number, claimId?: string): Holding {
    const { request, tenant, band } = waiter;
    const entry = entryOf(waiter, kvTokens, now);
    ledger.grant(entry);
    this.#inUse += entry.places;
    const charged = virtualCost(request.promptTokens, request.outputTokens * request.places);
    this.#room.bands[band]?.serve(tenant, charged);
    this.#among?.charge(band, tenant, charged);
    return claimId === undefined ? { waiter, ledger, entry, charged } : { waiter, ledger, entry, charged, claimId };
  }

  /** As if it had not been decided. */
  #takeBack({ waiter, ledger, entry, charged }: Holding): void {
    ledger.withdraw(entry);
    this.#inUse -= entry.places;
    this.#charge(waiter, -charged);
    this.#keepTime();
  }

  #charge({ band, tenant }: Waiter, amount: number): void {
    this.#room.bands[band]?.charge(tenant, amount);
    this.#among?.charge(band, tenant, amount);
  }

  #comeBack(waiter: Waiter): void {
    this.#room.enter(waiter, true);
    this.#keepTime();
  }

  #deliver(holding: Holding): void {
    const { waiter, entry } = holding;
    this.#activity.granted(waiter.band, waiter.kind, entry.grantedAt);
    this.#tellOthers();
    waiter.listener.granted(new HeldLease(this.#hooks, holding));
  }

  readonly #hooks: LeaseHooks & ClaimHooks = {
    now: () => this.clock.now(),
    firstToken: ({ ledger, entry }) => {
      ledger.firstToken(entry, this.clock.now());
      this.#tellOthers();
      this.#pump();
    },
    release: (held, adjustment) => {
      this.#release(held, adjustment);
    },
    refused: (held, listener) => this.#refused(held, listener),
    claimed: (held) => {
      this.#keepTime();
      this.#deliver(held);
    },
    notClaimed: (held) => this.#notClaimed(held),
  };

  /** It waits for what happens next. Others are not told: they would ask in their turn, and so on without an end. */
  #notClaimed(held: Holding): void {
    const { waiter } = held;
    this.#takeBack(held);
    this.#hold(waiter, NOT_CONFIRMED, this.clock.now());
    if (this.#draining && !waiter.isCommitted) this.#refuse(waiter, 'draining');
    else this.#comeBack(waiter);
  }

  #release(held: Holding, adjustment: number): void {
    const { waiter, ledger, entry, charged } = held;
    const now = this.clock.now();
    ledger.release(entry, now);
    this.#claims?.release(held);
    this.#inUse -= entry.places;
    this.#activity.released(entry.band);
    this.#drain.note(now);
    this.received[entry.band]?.add(waiter.request.tenant, Math.max(0, charged + adjustment));
    if (adjustment !== 0) this.#charge(waiter, adjustment);
    this.#tellOthers();
    this.#pump();
  }

  /** Nothing of it has run: its tenant gets everything back, and it asks again in front of those that wait. */
  #refused(held: Holding, listener: PoolListener): Ticket | undefined {
    const now = this.clock.now();
    const { waiter } = held;
    held.ledger.refuse(now);
    const another = this.#ordered.some(({ downUntil }) => now >= downUntil);
    if (!another || waiter.tries + 1 >= MOST_TRIES) {
      this.#release(held, -held.charged);
      return undefined;
    }
    const { since, tries, order } = waiter;
    const again = this.#waiterOf(waiter.request, listener, { since, tries: tries + 1, order });
    // In the queue before the place is free, or somebody else would take it.
    this.#room.enter(again, true);
    this.#release(held, -held.charged);
    this.#keepTime();
    return again;
  }

  /** Ends the waits that have lasted too long. */
  #expire(): void {
    const now = this.clock.now();
    for (const waiter of this.#room.due(now)) this.#leave(waiter, 'queue-timeout');
    for (const waiter of this.#claims?.waiters() ?? [])
      if (waiter.deadline <= now) this.#leave(waiter, 'queue-timeout');
    const { gauges } = this.policy;
    if (gauges === undefined) return;
    for (const head of this.#room.heads())
      if (head.isSaturated(now, gauges.maxParkMs)) this.#leave(head, 'engine-saturated');
  }
}
