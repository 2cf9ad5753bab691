import type { Clock } from '../../common/clock.js';
import { placeOf } from './core/endpoint-place.js';
import type { EngineSnapshot } from './core/engine-snapshot.js';
import { FaultTally, type FaultCounts } from './core/scrape-fault.js';
import type { Endpoint, EndpointState } from './endpoint.js';
import type { EndpointNews, EngineNews } from './engine-news.js';
import type { EnginesListener, ObservationTotals, ObservedUpstream, UpstreamView } from './upstream-engines.js';

/** The engines of one upstream as another process tells of them. */
export class ToldEngines implements UpstreamView {
  #endpoints: readonly ToldEndpoint[];
  #totals: ObservationTotals = { faults: new FaultTally().counts, staleCount: 0 };
  readonly #told = Promise.withResolvers<undefined>();

  constructor(
    private readonly upstream: ObservedUpstream,
    private readonly world: { readonly clock: Clock; readonly machineOffsetMs: number },
    private readonly listener: EnginesListener,
  ) {
    const news = { ...placeOf(upstream.url), state: 'unknown' as const, degraded: false, staleCount: 0 };
    this.#endpoints = [this.#join(news)];
  }

  get endpoints(): readonly Endpoint[] {
    return this.#endpoints;
  }

  get totals(): ObservationTotals {
    return this.#totals;
  }

  /** Settles when they have been told of once. */
  async start(): Promise<void> {
    await this.#told.promise;
  }

  stop(): Promise<void> {
    this.#told.resolve(undefined);
    return Promise.resolve();
  }

  /** Takes what is known of them now. */
  take({ endpoints, totals }: EngineNews): void {
    const before = this.#endpoints;
    const kept = new Map(before.map((endpoint) => [endpoint.id, endpoint]));
    this.#totals = totals;
    const after = endpoints.map((news) => kept.get(news.id) ?? this.#join(news));
    const others = idsOf(after) !== idsOf(before);
    // The list stays the same until there are others.
    if (others) this.#endpoints = after;
    if (others) this.listener.onEndpoints(this.upstream.name);
    for (const [at, news] of endpoints.entries()) {
      const endpoint = after[at];
      if (endpoint?.take(news) === true) this.listener.onSnapshot(endpoint);
    }
    this.#told.resolve(undefined);
  }

  #join(news: EndpointNews): ToldEndpoint {
    const { name, observe } = this.upstream;
    const lateAfterMs = observe === undefined ? Infinity : 2 * observe.intervalMs;
    return new ToldEndpoint(news, name, lateAfterMs, this.world);
  }
}

const idsOf = (endpoints: readonly Endpoint[]): string => endpoints.map(({ id }) => id).join();

class ToldEndpoint implements Endpoint {
  readonly id: string;
  readonly faults: FaultCounts = new FaultTally().counts;
  #news: EndpointNews;
  #snapshot: EngineSnapshot | undefined;

  constructor(
    news: EndpointNews,
    readonly upstream: string,
    private readonly lateAfterMs: number,
    private readonly world: { readonly clock: Clock; readonly machineOffsetMs: number },
  ) {
    this.id = news.id;
    this.#news = { ...news, state: 'unknown' };
  }

  get origin(): string {
    return this.#news.origin;
  }

  get authority(): string {
    return this.#news.authority;
  }

  /** Becomes late here, and not only when the poller says so. */
  get state(): EndpointState {
    const { state } = this.#news;
    if (state !== 'healthy' || this.#snapshot === undefined) return state;
    return this.world.clock.now() - this.#snapshot.takenAtMs > this.lateAfterMs ? 'late' : 'healthy';
  }

  get snapshot(): EngineSnapshot | undefined {
    return this.#snapshot;
  }

  get degraded(): boolean {
    return this.#news.degraded;
  }

  get staleCount(): number {
    return this.#news.staleCount;
  }

  /** true: there is a reading that is new, or none is to be believed any more. */
  take(news: EndpointNews): boolean {
    const before = this.#snapshot;
    const turnedStale = news.state === 'stale' && this.#news.state !== 'stale';
    this.#news = news;
    const { snapshot } = news;
    this.#snapshot = snapshot && { ...snapshot, takenAtMs: snapshot.takenAtMs - this.world.machineOffsetMs };
    return turnedStale || (news.state !== 'stale' && this.#snapshot?.takenAtMs !== before?.takenAtMs);
  }
}
