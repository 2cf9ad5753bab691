import type { PoolView } from './admission-tests.js';
import type { AmongGateways } from './among-gateways.js';
import type { BandActivity } from './band-activity.js';
import { EndpointChoice, type Held } from './endpoint-choice.js';
import type { EndpointLedger } from './endpoint-ledger.js';
import type { PlaceBook } from './place-book.js';
import type { PoolPolicy, PoolRequest, TestName } from './pool-types.js';
import { workClassOf } from './prefill-rate.js';
import { Reservation } from './reservation.js';
import type { Share } from './share-rule.js';
import { kvTokensOf, patienceMs, prefillEstimateMs } from './sizing.js';
import { candidateOf, Waiter, type WaiterTerms } from './waiter.js';
import type { WaitingRoom } from './waiting-room.js';

const heldByThis = (heldBy: TestName): Held => ({ endpoint: undefined, heldBy, gaugesAlone: false });
const AT_LIMIT = heldByThis('limit');
const YIELDS = heldByThis('yield');

/** What a pool's requests are judged by. */
export interface JudgeTerms {
  readonly policy: PoolPolicy;
  readonly room: WaitingRoom;
  readonly activity: BandActivity;
  readonly book: PlaceBook;
  /** undefined: there is no other gateway. */
  readonly among: AmongGateways | undefined;
}

/** How a request came. `order` absent: it has just done so. */
export type Came = Pick<WaiterTerms, 'since' | 'tries' | 'listener' | 'leave'> & { readonly order?: number };

/** A place that a request may have. */
export interface FoundPlace {
  readonly endpoint: EndpointLedger;
  readonly kvTokens: number;
  readonly view: PoolView;
}

/** Whether a request may run now, and where; if not, what holds it. */
export class Judge {
  /** How often a head was held back by each test. */
  readonly held = new Map<TestName, number>();
  readonly reservation: Reservation;
  /** By address. */
  endpoints: readonly EndpointLedger[] = [];
  readonly #choice: EndpointChoice;
  #asked = 0;
  /** Those who stood at the head of a queue when that was looked at last. */
  #heads: readonly Waiter[] = [];

  constructor(private readonly terms: JudgeTerms) {
    this.#choice = new EndpointChoice(terms.policy);
    this.reservation = new Reservation(this.#choice, terms.among?.peers);
  }

  placeFor(waiter: Waiter, now: number): FoundPlace | undefined {
    const { policy, activity, among } = this.terms;
    const kvTokens = kvTokensOf(policy, waiter.request);
    const candidate = candidateOf(waiter, kvTokens, now, waiter === this.reservation.waiter);
    const view = this.#view(now);
    const choice = this.#hasRoomFor(waiter, view)
      ? this.#choice.choose(candidate, view, activity.lastLongAt)
      : AT_LIMIT;
    if (choice.endpoint === undefined) {
      this.hold(waiter, choice, now);
      this.reservation.held(waiter, candidate, view);
      return undefined;
    }
    if (among?.yields(waiter, now) !== true) return { endpoint: choice.endpoint, kvTokens, view };
    this.hold(waiter, YIELDS, now);
    return undefined;
  }

  /**
   * Whoever stands at the head of a queue is not tried while all slots are taken: what holds it then is that, whatever
   * it was before. And a wait for the gauges is none of one who stands there no more.
   */
  lookAtHeads(now: number): void {
    const { policy, room, book } = this.terms;
    const heads = room.heads();
    for (const one of this.#heads) if (!heads.includes(one)) one.gaugeHeldSince = undefined;
    this.#heads = heads;
    if (book.inUse < policy.limit) return;
    for (const head of heads) this.hold(head, AT_LIMIT, now);
  }

  /** A request as it waits: its tenant as all gateways name it. */
  waiterOf(request: PoolRequest, came: Came): Waiter {
    const tenant = this.terms.among?.sharing.tenantKey(request.tenant) ?? request.tenant;
    const order = came.order ?? (this.#asked += 1);
    return new Waiter({ request, tenant, ...came, order, ...this.#patienceFor(request, came.since) });
  }

  /** How much prefill it is likely to need, and how long it may wait for that. */
  #patienceFor(request: PoolRequest, since: number): Pick<Waiter, 'estimateMs' | 'kind' | 'deadline'> {
    const { policy } = this.terms;
    const estimateMs = prefillEstimateMs(policy, this.endpoints, request);
    return { estimateMs, kind: workClassOf(estimateMs), deadline: since + patienceMs(policy, request, estimateMs) };
  }

  /** Notes what has held a request back. */
  hold(waiter: Waiter, { heldBy, gaugesAlone }: Omit<Held, 'endpoint'>, now: number): void {
    if (waiter.holdBy(heldBy)) this.held.set(heldBy, (this.held.get(heldBy) ?? 0) + 1);
    waiter.gaugeHeldSince = gaugesAlone ? (waiter.gaugeHeldSince ?? now) : undefined;
  }

  #hasRoomFor(waiter: Waiter, { policy, share, endpoints }: PoolView): boolean {
    const { book } = this.terms;
    const inUse = book.overall(endpoints, share);
    if (inUse === 0) return true;
    const { places } = waiter.request;
    if (inUse + places + this.reservation.placesKeptFrom(waiter) > policy.limit) return false;
    if (share === undefined || this.#goesOnTop(waiter, share)) return true;
    return book.inUse + places <= share.mostOverall(policy.limit, waiter.band, endpoints);
  }

  /** A request for which an endpoint is kept clear has its limit there. */
  #goesOnTop(waiter: Waiter, share: Share): boolean {
    return !share.told && waiter === this.reservation.waiter;
  }

  #view(now: number): PoolView {
    const { policy, room, activity, among } = this.terms;
    const { endpoints } = this;
    return {
      policy,
      now,
      endpoints,
      lane: endpoints.find(({ downUntil }) => now >= downUntil) ?? endpoints[0],
      topBandAround: activity.topBandAround(now),
      longWaits: room.longWaits || among?.peers.longWaits === true,
      reserved: this.reservation.kept,
      share: among?.shareAt(now),
      starved: (band) => activity.isStarved(band, room.bands[band]?.candidates()[0], now) && !this.#runsElsewhere(band),
    };
  }

  #runsElsewhere(band: number): boolean {
    if (this.terms.among === undefined) return false;
    return this.endpoints.some(({ leases }) => [...leases].some((lease) => lease.remote && lease.band === band));
  }
}
