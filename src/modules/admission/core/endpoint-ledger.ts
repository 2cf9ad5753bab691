import { ALONE, grownBy, type AtReading, type ReadingTerms } from './at-reading.js';
import type { GaugeReading, WorkClass } from './pool-types.js';
import { ForeignPrefill, OVERDUE_SHARE } from './foreign-prefill.js';
import { Leases, type Leased } from './leases.js';
import { PrefillRate } from './prefill-rate.js';

/** A grant younger than this when a reading was taken may not be in its gauges yet. */
const VISIBLE_AFTER_MS = 50;
const DOWN_MS = 5000;
/** An expired estimate never reads as zero. */
const LEAST_BACKLOG_A_PREFILL_MS = 200;
const STALL_BACKLOG_MS = 10_000;

/** One request at the endpoint. */
export interface LeaseEntry extends Leased {
  readonly band: number;
  readonly kind: WorkClass;
  readonly estimateMs: number;
  readonly promptTokens: number;
  readonly uncachedTokens: number;
  readonly kvTokens: number;
  readonly grantedAt: number;
  /** Its first token will be seen: it is streamed. */
  readonly visible: boolean;
  firstTokenAt: number | undefined;
  /** Another gateway has it, and has told. */
  readonly remote: boolean;
}

/** An answer that is not streamed shows no first token: its prefill counts as over after twice its estimate. */
const UNSEEN_PREFILLS = 2;
const UNSEEN_LEAST_MS = 1000;
const isOverUnseen = ({ visible, grantedAt, estimateMs }: LeaseEntry, now: number): boolean =>
  !visible && now - grantedAt > UNSEEN_LEAST_MS + UNSEEN_PREFILLS * estimateMs;

/** What this gateway has at one endpoint, what others have told of theirs, and what the engine last said of itself. */
export class EndpointLedger {
  readonly rate = new PrefillRate();
  readonly leases = new Leases<LeaseEntry>();
  /** How many of them are of each class. */
  readonly kinds: Record<WorkClass, number> = { light: 0, heavy: 0, long: 0 };
  /** Places of all leases, and of this gateway's. */
  places = 0;
  ownPlaces = 0;
  kvReserved = 0;
  /** Leases without a first token, and the sum of their estimates. */
  prefills = 0;
  prefillEstimateMs = 0;
  lastFirstAt = -Infinity;
  heavyEndedAt = -Infinity;
  heavyTookMs = 0;
  downUntil = -Infinity;
  /** After a restart: the most that may run, doubled with every reading. undefined: no such limit. */
  slowStart: number | undefined;
  reading: GaugeReading | undefined;
  /** As the engine told last, though its gauges may have become too old since: memory does not. */
  kvCapacityTokens: number | undefined;
  /** When the gauges were last read; undefined: they are too old, or do not tell. */
  atReading: AtReading | undefined;
  /** When all other gateways had told what they have; undefined: they have not. */
  atNews: AtReading | undefined;
  /** Places of this gateway when the store that counts had gone. */
  ownAtLoss = 0;
  readonly #remote = new Map<string, readonly LeaseEntry[]>();
  /** Places of others that the reading shows; undefined: what others had then is not known. */
  #remoteAtReading: number | undefined;
  #releasedSince = 0;
  /** Of the engine that was read last: a restart often takes longer than its gauges are believed. */
  #bootId: string | undefined;
  readonly #foreign = new ForeignPrefill();
  #backlogMs = 0;
  /** For when that was found; undefined: something has changed since. */
  #backlogAt: number | undefined;

  constructor(
    readonly id: string,
    readonly slots: number,
  ) {}

  grant(entry: LeaseEntry): void {
    this.#add(entry);
    this.ownPlaces += entry.places;
    if (this.reading !== undefined) this.leases.hide(entry);
  }

  /** A grant that came to nothing before anything was sent. */
  withdraw(entry: LeaseEntry): void {
    if (!this.leases.has(entry)) return;
    this.#drop(entry);
    this.ownPlaces -= entry.places;
  }

  /** All that another gateway has here now. */
  setRemote(peer: string, entries: readonly LeaseEntry[]): void {
    for (const entry of this.#remote.get(peer) ?? []) this.#drop(entry);
    if (entries.length === 0) this.#remote.delete(peer);
    else this.#remote.set(peer, entries);
    for (const entry of entries) this.#hear(entry);
  }

  /** What others have here is not heard of any more. */
  forgetOthers(): void {
    for (const peer of [...this.#remote.keys()]) this.setRemote(peer, []);
  }

  firstToken(entry: LeaseEntry, now: number): void {
    if (entry.firstTokenAt !== undefined || !this.leases.has(entry)) return;
    const since = Math.max(entry.grantedAt, this.lastFirstAt);
    if (this.prefills === 1 && entry.uncachedTokens > 0) this.rate.learn(entry.uncachedTokens, now - since);
    if (entry.kind !== 'light') this.#endHeavy(entry, now);
    this.#endPrefill(entry);
    entry.firstTokenAt = now;
    this.lastFirstAt = Math.max(this.lastFirstAt, now);
  }

  release(entry: LeaseEntry, now: number): void {
    if (!this.leases.has(entry)) return;
    if (!entry.unseen && this.reading !== undefined) this.#releasedSince += entry.places;
    this.#drop(entry);
    this.ownPlaces -= entry.places;
    if (entry.firstTokenAt === undefined && entry.kind !== 'light') this.#endHeavy(entry, now);
  }

  /** A good poll. */
  read(reading: GaugeReading, terms: ReadingTerms = ALONE): void {
    this.#noteBoot(reading.bootId);
    this.kvCapacityTokens = reading.kvCapacityTokens ?? this.kvCapacityTokens;
    this.reading = reading;
    this.#backlogAt = undefined;
    const visibleUntil = reading.takenAtMs - VISIBLE_AFTER_MS;
    for (const lease of this.leases) {
      if (lease.grantedAt >= visibleUntil) this.leases.hide(lease);
      else this.leases.see(lease);
    }
    this.#releasedSince = 0;
    this.#remoteAtReading = terms.live ? this.#remoteShown() : undefined;
    const foreignTokens = this.foreignKvTokens(reading.takenAtMs);
    this.#foreign.read(foreignTokens, reading.takenAtMs, { prefills: this.prefills, untold: terms.untold });
    const occupied = this.gaugedPlaces();
    this.atReading = occupied === undefined ? undefined : { own: this.ownPlaces, occupied, turn: terms.turn };
  }

  /** The others have just told what they have. */
  noteNews(turn: number): void {
    this.atNews = { own: this.ownPlaces, occupied: this.occupied(), turn };
  }

  /** What has been granted since upon the news counts as if it had been held before. */
  settleNews(): void {
    this.atNews = this.atNews && grownBy(this.atNews, this.ownPlaces - this.atNews.own);
  }

  /** The gauges are too old to be believed: what this gateway has itself remains, and holds alone. */
  forgetReading(): void {
    this.reading = undefined;
    // No reading would ever double it.
    this.slowStart = undefined;
    this.#backlogAt = undefined;
    this.atReading = undefined;
    this.#remoteAtReading = undefined;
    this.leases.seeAll();
    this.#releasedSince = 0;
    this.#foreign.forget();
  }

  refuse(now: number): void {
    this.downUntil = now + DOWN_MS;
  }

  /** Requests of this gateway. */
  get ownRequests(): number {
    let count = 0;
    for (const { remote } of this.leases) if (!remote) count += 1;
    return count;
  }

  /** Requests at the engine by its own gauges, with what was granted and given back since; undefined: unknown. */
  gaugedPlaces(): number | undefined {
    const { running, waiting } = this.reading ?? {};
    if (running === undefined && waiting === undefined) return undefined;
    const granted = this.leases.unseenPlaces;
    return Math.max(0, (running ?? 0) + (waiting ?? 0) + granted - this.#releasedSince - this.#releasedByOthers());
  }

  /** The larger of what the gateways know and what the engine says. */
  occupied(): number {
    return Math.max(this.places, this.gaugedPlaces() ?? 0);
  }

  /** KV tokens that others hold, by the gauge and the estimate of what our own requests have allocated. */
  foreignKvTokens(now: number): number {
    const { kvUsage, kvCapacityTokens } = this.reading ?? {};
    if (kvUsage === undefined || kvCapacityTokens === undefined) return 0;
    return Math.max(0, kvUsage * kvCapacityTokens - this.#allocated(now));
  }

  /** Milliseconds of prefill that are ahead of a newcomer. */
  backlogMs(now: number): number {
    // Several tests of one request ask for it, and it takes a walk over all leases.
    if (this.#backlogAt !== now) {
      this.#backlogMs = Math.max(this.#ownBacklogMs(now), this.#stallMs(), this.#foreign.backlogMs(now, this.prefills));
      this.#backlogAt = now;
    }
    return this.#backlogMs;
  }

  #noteBoot(bootId: string | undefined): void {
    const restarted = this.#bootId !== undefined && bootId !== undefined && this.#bootId !== bootId;
    this.#bootId = bootId ?? this.#bootId;
    if (restarted) this.slowStart = 1;
    else if (this.slowStart !== undefined)
      this.slowStart = this.slowStart >= 2 * this.slots ? undefined : this.slowStart * 2;
  }

  #add(entry: LeaseEntry): void {
    this.leases.add(entry);
    this.kinds[entry.kind] += 1;
    this.#backlogAt = undefined;
    this.places += entry.places;
    this.kvReserved += entry.kvTokens;
    if (entry.firstTokenAt !== undefined) return;
    this.prefills += 1;
    this.prefillEstimateMs += entry.estimateMs;
  }

  #drop(entry: LeaseEntry): void {
    this.leases.delete(entry);
    this.kinds[entry.kind] -= 1;
    this.#backlogAt = undefined;
    this.places -= entry.places;
    this.kvReserved -= entry.kvTokens;
    if (entry.firstTokenAt === undefined) this.#endPrefill(entry);
  }

  #hear(entry: LeaseEntry): void {
    this.#add(entry);
    if (this.reading !== undefined && entry.grantedAt >= this.reading.takenAtMs - VISIBLE_AFTER_MS)
      this.leases.hide(entry);
    const { firstTokenAt } = entry;
    if (firstTokenAt === undefined) return;
    this.lastFirstAt = Math.max(this.lastFirstAt, firstTokenAt);
    if (entry.kind !== 'light' && firstTokenAt > this.heavyEndedAt) this.#endHeavy(entry, firstTokenAt);
  }

  /** Places of others that the engine's gauges show. */
  #remoteShown(): number {
    let places = 0;
    for (const entries of this.#remote.values()) for (const entry of entries) if (!entry.unseen) places += entry.places;
    return places;
  }

  #releasedByOthers(): number {
    return this.#remoteAtReading === undefined ? 0 : Math.max(0, this.#remoteAtReading - this.#remoteShown());
  }

  #ownBacklogMs(now: number): number {
    if (this.prefills === 0) return 0;
    let oldest = Infinity;
    for (const lease of this.leases) {
      if (lease.firstTokenAt !== undefined) continue;
      if (isOverUnseen(lease, now)) this.#endUnseen(lease, now);
      else oldest = Math.min(oldest, lease.grantedAt);
    }
    if (this.prefills === 0) return 0;
    const elapsed = now - Math.max(oldest, this.lastFirstAt);
    return Math.max(
      LEAST_BACKLOG_A_PREFILL_MS * this.prefills,
      this.prefillEstimateMs - elapsed,
      OVERDUE_SHARE * elapsed,
    );
  }

  /** The engine lets requests wait although it has places and memory: somebody's prefill eats its steps. */
  #stallMs(): number {
    const { running, waiting, kvUsage } = this.reading ?? {};
    if (running === undefined || waiting === undefined || this.prefills > 0) return 0;
    return waiting > 0 && running < this.slots && (kvUsage ?? 0) < 0.9 ? STALL_BACKLOG_MS : 0;
  }

  #allocated(now: number): number {
    let tokens = 0;
    for (const { firstTokenAt, estimateMs, grantedAt, promptTokens, kvTokens } of this.leases) {
      // While it decodes, what is set aside for its output counts too: or our own tokens would pass for somebody else's.
      if (firstTokenAt !== undefined) tokens += kvTokens;
      else tokens += promptTokens * (estimateMs === 0 ? 1 : Math.min(1, Math.max(0, (now - grantedAt) / estimateMs)));
    }
    return tokens;
  }

  #endUnseen(lease: LeaseEntry, now: number): void {
    this.#endPrefill(lease);
    lease.firstTokenAt = now;
  }

  #endPrefill(entry: LeaseEntry): void {
    this.prefills -= 1;
    this.#backlogAt = undefined;
    this.prefillEstimateMs = this.prefills === 0 ? 0 : this.prefillEstimateMs - entry.estimateMs;
  }

  #endHeavy(entry: LeaseEntry, now: number): void {
    this.heavyEndedAt = now;
    this.heavyTookMs = now - entry.grantedAt;
  }
}
