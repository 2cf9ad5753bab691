import type { Clock } from '../../../common/clock.js';
import type { Candidate, PoolView } from './admission-tests.js';
import { BandActivity } from './band-activity.js';
import { EndpointChoice } from './endpoint-choice.js';
import { EndpointLedger, type LeaseEntry } from './endpoint-ledger.js';
import { FlowQueue } from './flow-queue.js';
import { Heap } from './heap.js';
import { HeldLease, type Holding, type LeaseHooks } from './held-lease.js';
import type { GaugeReading, PoolListener, PoolPolicy, PoolRequest, Refusal, TestName, Ticket } from './pool-types.js';
import { workClassOf } from './prefill-rate.js';
import { DrainRate, retryAfterSeconds } from './retry-after.js';
import { kvTokensOf, patienceMs, prefillEstimateMs } from './sizing.js';
import { Ticker } from './ticker.js';
import { TenantTotals } from './tenant-totals.js';
import { virtualCost } from './virtual-cost.js';
import { Waiter } from './waiter.js';

const TICK_MS = 250;
const MOST_TRIES = 3;
const NO_TICKET: Ticket = { cancel: () => undefined };

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
  readonly #bands: FlowQueue<Waiter>[];
  readonly #deadlines = new Heap<Waiter>((a, b) => a.deadline < b.deadline);
  readonly #activity: BandActivity;
  readonly #drain = new DrainRate();
  readonly #choice: EndpointChoice;
  readonly #ticker: Ticker;
  #ordered: EndpointLedger[] = [];
  #inUse = 0;
  #draining = false;
  #pumping = false;

  constructor(
    readonly policy: PoolPolicy,
    private readonly clock: Clock,
    private readonly random: () => number,
  ) {
    this.#bands = policy.bands.map(() => new FlowQueue<Waiter>());
    this.received = policy.bands.map(() => new TenantTotals());
    this.#activity = new BandActivity(policy.bands.length, clock.now());
    this.#choice = new EndpointChoice(policy);
    this.#ticker = new Ticker(clock, TICK_MS, () => {
      this.#expire();
      this.#pump();
    });
  }

  get inUse(): number {
    return this.#inUse;
  }

  depth(band: number): number {
    return this.#bands[band]?.size ?? 0;
  }

  /** The lines of the bands, highest first; to be looked at only. */
  get queues(): readonly FlowQueue<Waiter>[] {
    return this.#bands;
  }

  /** The endpoints that there are now. One that is new is empty; one that is gone takes no more requests. */
  setEndpoints(ids: readonly string[]): void {
    for (const id of this.endpoints.keys()) if (!ids.includes(id)) this.endpoints.delete(id);
    for (const id of ids)
      if (!this.endpoints.has(id)) this.endpoints.set(id, new EndpointLedger(id, this.policy.slotsPerEndpoint));
    this.#ordered = [...this.endpoints.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    this.#pump();
  }

  /** A good poll of an endpoint; undefined: its gauges have become too old. */
  read(id: string, reading: GaugeReading | undefined): void {
    const endpoint = this.endpoints.get(id);
    if (endpoint === undefined) return;
    if (reading === undefined) endpoint.forgetReading();
    else endpoint.read(reading);
    this.#pump();
  }

  /** Asks for a place. The listener is called once, perhaps before this returns. */
  enqueue(request: PoolRequest, listener: PoolListener): Ticket {
    // One reading of the clock: who finds a place at once has waited for exactly no time.
    const now = this.clock.now();
    const waiter = this.#waiterOf(request, listener, now, 0);
    const band = this.#bands[request.band];
    if (band === undefined) throw new RangeError(`no band ${request.band}`);
    this.#activity.asked(request.band, now);
    if (this.#nobodyWaits() && this.#tryGrant(waiter, now)) return NO_TICKET;
    if (this.#draining) return this.#refuse(waiter, 'draining');
    if (band.size >= (this.policy.bands[request.band]?.capacity ?? 0)) return this.#refuse(waiter, 'queue-full');
    return this.#wait(waiter, now);
  }

  /** From now on nobody joins the queue, and who waits in it without having been sent anything is refused. */
  drain(): void {
    this.#draining = true;
    this.#turnAway((waiter) => waiter.listener.committed?.() !== true);
  }

  /** The drain may last no longer: whoever still waits is refused, whatever it has been sent. */
  endDrain(): void {
    this.#turnAway(() => true);
  }

  #turnAway(these: (waiter: Waiter) => boolean): void {
    for (const band of this.#bands) {
      for (const waiter of [...band.all()]) if (these(waiter)) this.#leave(waiter, 'draining');
    }
  }

  #waiterOf(request: PoolRequest, listener: PoolListener, since: number, tries: number): Waiter {
    const estimateMs = prefillEstimateMs(this.policy, this.#ordered, request);
    const deadline = since + patienceMs(this.policy, request, estimateMs);
    return new Waiter({ request, listener, kind: workClassOf(estimateMs), estimateMs, since, deadline, tries });
  }

  #nobodyWaits(): boolean {
    return this.#deadlines.size === 0;
  }

  #enter(waiter: Waiter, front: boolean): void {
    this.#bands[waiter.request.band]?.add(waiter, front);
    this.#deadlines.push(waiter);
  }

  #wait(waiter: Waiter, now: number): Ticket {
    this.#enter(waiter, false);
    this.#pump(now);
    if (waiter.heapIndex >= 0) waiter.listener.queued?.(this.depth(waiter.request.band) - 1);
    if (!this.#nobodyWaits()) this.#ticker.start();
    return { cancel: () => this.#forget(waiter) };
  }

  /** Takes a waiter out of the queue; false: it did not wait any more. */
  #forget(waiter: Waiter): boolean {
    if (waiter.heapIndex < 0) return false;
    this.#deadlines.remove(waiter);
    this.#bands[waiter.request.band]?.remove(waiter);
    if (this.#nobodyWaits()) this.#ticker.stop();
    return true;
  }

  #refuse(waiter: Waiter, refusal: Refusal): Ticket {
    const now = this.clock.now();
    const ahead = this.#bands.slice(0, waiter.request.band + 1);
    const workMs = this.#drain.msAhead(ahead, this.#ordered.length, now);
    const seconds = retryAfterSeconds(workMs, this.policy.retryAfterMs, this.random());
    waiter.listener.refused(refusal, seconds, waiter.reason(this.depth(waiter.request.band), now));
    return NO_TICKET;
  }

  #leave(waiter: Waiter, refusal: Refusal): void {
    if (this.#forget(waiter)) this.#refuse(waiter, refusal);
  }

  /** Grants as long as somebody fits. */
  #pump(now = this.clock.now()): void {
    if (this.#pumping) return;
    this.#pumping = true;
    try {
      while (!this.#nobodyWaits() && this.#inUse < this.policy.limit && this.#grantOne(now));
    } finally {
      this.#pumping = false;
    }
  }

  #grantOne(now: number): boolean {
    for (const band of this.#bands) {
      if (band.size === 0) continue;
      for (const head of band.candidates()) if (this.#tryGrant(head, now)) return true;
    }
    return false;
  }

  #tryGrant(waiter: Waiter, now: number): boolean {
    const { request, kind, estimateMs } = waiter;
    if (this.#inUse > 0 && this.#inUse + request.places > this.policy.limit)
      return this.#hold(waiter, 'limit', false, now);
    const kvTokens = kvTokensOf(this.policy, request);
    const candidate: Candidate = {
      band: request.band,
      kind,
      places: request.places,
      kvTokens,
      estimateMs,
      waitedMs: now - waiter.since,
    };
    const choice = this.#choice.choose(candidate, this.#view(now), this.#activity.lastLongAt);
    if (choice.endpoint === undefined) return this.#hold(waiter, choice.heldBy, choice.gaugesAlone, now);
    this.#forget(waiter);
    this.#grant(waiter, choice.endpoint, kvTokens, now);
    return true;
  }

  #hold(waiter: Waiter, name: TestName, gaugesAlone: boolean, now: number): false {
    if (waiter.holdBy(name)) this.held.set(name, (this.held.get(name) ?? 0) + 1);
    waiter.gaugeHeldSince = gaugesAlone ? (waiter.gaugeHeldSince ?? now) : undefined;
    return false;
  }

  #view(now: number): PoolView {
    return {
      policy: this.policy,
      now,
      endpoints: this.#ordered,
      lane: this.#ordered.find(({ downUntil }) => now >= downUntil) ?? this.#ordered[0],
      topBandAround: this.#activity.topBandAround(now),
      longWaits: this.#bands.some((band) => band.has('long')),
      starved: (band) => this.#activity.isStarved(band, this.#bands[band]?.candidates()[0], now),
    };
  }

  #grant(waiter: Waiter, endpoint: EndpointLedger, kvTokens: number, now: number): void {
    const { request, kind, estimateMs } = waiter;
    const uncachedTokens = Math.max(0, request.promptTokens - request.cachedTokens);
    const entry: LeaseEntry = {
      band: request.band,
      kind,
      places: request.places,
      estimateMs,
      promptTokens: request.promptTokens,
      uncachedTokens,
      kvTokens,
      grantedAt: now,
      visible: request.stretchable,
      firstTokenAt: undefined,
    };
    endpoint.grant(entry);
    this.#inUse += entry.places;
    this.#activity.granted(request.band, kind, now);
    const charged = virtualCost(request.promptTokens, request.outputTokens * request.places);
    this.#bands[request.band]?.serve(request.tenant, charged);
    waiter.listener.granted(new HeldLease(this.#hooks, { waiter, ledger: endpoint, entry, charged }));
  }

  readonly #hooks: LeaseHooks = {
    now: () => this.clock.now(),
    firstToken: ({ ledger, entry }) => {
      ledger.firstToken(entry, this.clock.now());
      this.#pump();
    },
    release: (held, adjustment) => {
      this.#release(held, adjustment);
    },
    refused: (held, listener) => this.#refused(held, listener),
  };

  #release({ waiter, ledger, entry, charged }: Holding, adjustment: number): void {
    const now = this.clock.now();
    ledger.release(entry, now);
    this.#inUse -= entry.places;
    this.#activity.released(entry.band);
    this.#drain.note(now);
    this.received[entry.band]?.add(waiter.tenant, Math.max(0, charged + adjustment));
    if (adjustment !== 0) this.#bands[entry.band]?.charge(waiter.tenant, adjustment);
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
    const again = this.#waiterOf(waiter.request, listener, waiter.since, waiter.tries + 1);
    // In the queue before the place is free, or somebody else would take it.
    this.#enter(again, true);
    this.#release(held, -held.charged);
    if (!this.#nobodyWaits()) this.#ticker.start();
    return { cancel: () => this.#forget(again) };
  }

  /** Ends the waits that have lasted too long. */
  #expire(): void {
    const now = this.clock.now();
    for (let first = this.#deadlines.peek(); first?.isOver(now) === true; first = this.#deadlines.peek()) {
      this.#leave(first, 'queue-timeout');
    }
    const { gauges } = this.policy;
    if (gauges === undefined) return;
    const heads = this.#bands.flatMap((band) => band.candidates());
    for (const head of heads) if (head.isSaturated(now, gauges.maxParkMs)) this.#leave(head, 'engine-saturated');
  }
}
