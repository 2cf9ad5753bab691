import type { Clock } from '../../../common/clock.js';
import { AmongGateways } from './among-gateways.js';
import { BandActivity } from './band-activity.js';
import { claimOf } from './claim-of.js';
import { Claims, type ClaimHooks } from './claims.js';
import { EndpointSet } from './endpoint-set.js';
import { HeldLease, nothingFor, type Holding, type LeaseHooks, type Service } from './held-lease.js';
import type { GaugeReading, PoolListener, PoolPolicy, PoolRequest, Refusal, TestName, Ticket } from './pool-types.js';
import { Judge, type FoundPlace } from './judge.js';
import { PlaceBook } from './place-book.js';
import { Refusals } from './refusals.js';
import { DrainRate } from './retry-after.js';
import type { SharedLedger } from './shared-ledger.js';
import type { PoolSharing } from './sharing.js';
import { Ticker } from './ticker.js';
import type { TenantTotals } from './tenant-totals.js';
import { type Waiter } from './waiter.js';
import { WaitingRoom } from './waiting-room.js';

const TICK_MS = 250;
/** How often a request that was refused a connection stands in line again. */
const MOST_REQUEUES = 3;
const NOT_CONFIRMED = { heldBy: 'claim', gaugesAlone: false } as const;

/**
 * Who runs next on one upstream: bands from high to low, within a band the tenant that has had the least service, on
 * the endpoint that has the least to do, once every test is passed. Framework-free; time is the clock's.
 */
export class Pool {
  /** How often a head was held back by each test. */
  readonly held: ReadonlyMap<TestName, number>;
  /** By band: service received, in tokens. */
  readonly received: readonly TenantTotals[];
  /** The lines of the bands, highest first; to be looked at only. */
  readonly queues: WaitingRoom['bands'];
  /** Who is turned away without a look at what it asks for. */
  readonly refusals: Refusals;
  readonly #endpoints: EndpointSet;
  readonly #room: WaitingRoom;
  /** undefined: there is no other gateway. */
  readonly #among: AmongGateways | undefined;
  readonly #claims: Claims | undefined;
  readonly #activity: BandActivity;
  readonly #drain: DrainRate;
  readonly #book: PlaceBook;
  readonly #judge: Judge;
  readonly #ticker: Ticker;
  #pumping = false;

  constructor(
    readonly policy: PoolPolicy,
    private readonly clock: Clock,
    random: () => number,
    sharing?: PoolSharing,
  ) {
    this.#endpoints = new EndpointSet(policy.slotsPerEndpoint);
    this.#room = new WaitingRoom(policy.bands.length);
    this.#activity = new BandActivity(policy.bands.length, clock.now());
    this.#drain = new DrainRate(policy.limit);
    this.#ticker = new Ticker(clock, TICK_MS, () => this.#expire());
    const [room, activity] = [this.#room, this.#activity];
    const merge = { endpoints: this.#endpoints, bands: room.bands, activity };
    this.#among = sharing && new AmongGateways(sharing, merge);
    this.#claims = sharing?.store && new Claims(sharing.store, sharing.epoch, this.#hooks);
    this.#book = new PlaceBook({ room, activity, drain: this.#drain, among: this.#among });
    this.#judge = new Judge({ policy, room, activity, book: this.#book, among: this.#among });
    this.refusals = new Refusals({ policy, room, activity, judge: this.#judge, drain: this.#drain, random });
    this.queues = room.bands;
    this.held = this.#judge.held;
    this.received = this.#book.received;
  }

  /** Those that take requests. */
  get endpoints(): EndpointSet['current'] {
    return this.#endpoints.current;
  }

  get inUse(): number {
    return this.#book.inUse;
  }

  /** Requests of this gateway that run, be their endpoint listed or not. */
  get running(): number {
    return this.#endpoints.running;
  }

  depth(band: number): number {
    return this.#room.bands[band]?.size ?? 0;
  }

  /** The endpoints that there are now. One that is new is empty; one that is gone takes no more requests. */
  setEndpoints(ids: readonly string[]): void {
    for (const endpoint of this.#endpoints.list(ids)) this.#among?.peers.placeAll(endpoint);
    this.#judge.endpoints = [...this.endpoints.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#pump();
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
    return this.#among?.tell(now, this.#judge.reservation.here, this.#claims?.entries());
  }

  /** What another gateway has told of its pool; undefined: it has fallen silent. */
  remote(peer: string, ledger: SharedLedger | undefined): void {
    this.#among?.hear(peer, ledger, this.clock.now());
    this.#pump();
  }

  /** All other gateways have told of theirs, one after the other. */
  afterNews(): void {
    this.#among?.afterNews(this.#room.highest, () => this.#pump());
  }

  /** Whether the store counts has changed. */
  sharingChanged(): void {
    this.#among?.turned(this.clock.now(), () => this.#claims?.giveUp());
    this.#pump();
  }

  /** Asks for a place. The listener is called once, perhaps before this returns. */
  enqueue(request: PoolRequest, listener: PoolListener): Ticket {
    // One reading of the clock: who finds a place at once has waited for exactly no time.
    const now = this.clock.now();
    if (this.#room.bands[request.band] === undefined) throw new RangeError(`no band ${request.band}`);
    const waiter = this.#judge.waiterOf(request, { since: now, tries: 0, listener, leave: this.#cancel });
    this.#activity.asked(request.band, now);
    if (this.#room.isEmpty && this.#tryGrant(waiter, now)) return waiter;
    const refusal = this.refusals.ofNewcomer(request.band);
    if (refusal !== undefined) return this.#refuse(waiter, refusal);
    this.#room.enter(waiter, false);
    this.#pump(now);
    this.#keepTime();
    this.#tellOthers();
    return waiter;
  }

  /** From now on nobody joins the queue, and who waits in it without having been sent anything is refused. */
  drain(): void {
    this.refusals.draining = true;
    for (const waiter of this.#room.all()) if (!waiter.isCommitted) this.#leave(waiter, 'draining');
  }

  /** The drain may last no longer: whoever still waits is refused, whatever it has been sent. */
  endDrain(): void {
    for (const waiter of [...this.#room.all(), ...(this.#claims?.waiters() ?? [])]) this.#leave(waiter, 'draining');
  }

  #enter(waiter: Waiter, front: boolean): void {
    this.#room.enter(waiter, front);
    this.#keepTime();
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
    this.#judge.reservation.ended(waiter);
    if (this.#room.isEmpty) this.#keepTime();
    return true;
  }

  readonly #cancel = (waiter: Waiter): void => {
    const keptRoom = this.#judge.reservation.waiter === waiter;
    const claimed = this.#claims?.abandon(waiter);
    if (claimed !== undefined) this.#takeBack(claimed);
    else this.#forget(waiter);
    this.#tellOthers();
    if (keptRoom || claimed !== undefined) this.#pump();
  };

  #refuse(waiter: Waiter, refusal: Refusal): Ticket {
    const now = this.clock.now();
    const seconds = this.refusals.retryAfter(waiter.band, now);
    waiter.listener.refused(refusal, seconds, waiter.reason(this.depth(waiter.band), now));
    return waiter;
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
      while (!this.#room.isEmpty && this.#book.inUse < this.policy.limit && this.#grantOne(now));
    } finally {
      this.#pumping = false;
    }
  }

  #grantOne(now: number): boolean {
    for (const head of this.#room.turns(this.#judge.reservation.waiter)) if (this.#tryGrant(head, now)) return true;
    return false;
  }

  #tryGrant(waiter: Waiter, now: number): boolean {
    const place = this.#judge.placeFor(waiter, now);
    return place !== undefined && this.#grant(waiter, place);
  }

  /** Takes a place; false: the store knows of others who have it, and the request stands where it stood. */
  #grant(waiter: Waiter, { endpoint, kvTokens, view }: FoundPlace): boolean {
    const waited = this.#forget(waiter);
    const claim = this.#claims && claimOf(this.#claims.nextId(), waiter, { endpoint, kvTokens }, view);
    const holding = this.#book.take(waiter, endpoint, kvTokens, view.now, claim?.id);
    const answer = claim === undefined ? true : this.#claims?.ask(holding, claim);
    if (answer === true) this.#deliver(holding);
    else if (answer === undefined) this.#keepTime();
    else {
      this.#takeBack(holding);
      this.#judge.hold(waiter, NOT_CONFIRMED, view.now);
      if (waited) this.#enter(waiter, true);
    }
    return answer !== false;
  }

  #takeBack(holding: Holding): void {
    this.#book.takeBack(holding);
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
    release: (held, service) => {
      this.#release(held, service);
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
    this.#judge.hold(waiter, NOT_CONFIRMED, this.clock.now());
    if (this.refusals.draining && !waiter.isCommitted) this.#refuse(waiter, 'draining');
    else this.#enter(waiter, true);
  }

  #release(held: Holding, service: Service): void {
    this.#book.release(held, service, this.clock.now());
    this.#claims?.release(held);
    this.#tellOthers();
    this.#pump();
  }

  /** Nothing of it has run: its tenant gets everything back, and it asks again in front of those that wait. */
  #refused(held: Holding, listener: PoolListener): Ticket | undefined {
    const now = this.clock.now();
    const { waiter } = held;
    held.ledger.refuse(now);
    const another = this.#judge.endpoints.some(({ downUntil }) => now >= downUntil);
    if (!another || waiter.tries >= MOST_REQUEUES) {
      this.#release(held, nothingFor(held));
      return undefined;
    }
    const { since, tries, order } = waiter;
    const terms = { since, tries: tries + 1, order, listener, leave: this.#cancel };
    const again = this.#judge.waiterOf(waiter.request, terms);
    // In the queue before the place is free, or somebody else would take it.
    this.#room.enter(again, true);
    this.#release(held, nothingFor(held));
    this.#keepTime();
    return again;
  }

  /** Ends the waits that have lasted too long, and looks for places: time alone may have made some. */
  #expire(): void {
    const now = this.clock.now();
    this.#judge.lookAtHeads(now);
    const claiming = this.#claims?.waiters() ?? [];
    for (const [waiter, refusal] of this.#room.over(now, this.policy.gauges?.maxParkMs, claiming))
      this.#leave(waiter, refusal);
    this.#pump();
  }
}
