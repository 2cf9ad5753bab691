import type { Clock } from '../../common/clock.js';
import type { UpstreamConfig } from '../../common/config/upstreams.config.js';
import { hostOf, placeOf, type EndpointPlace } from './core/endpoint-place.js';
import { GaugePage } from './core/gauge-page.js';
import { gaugesOf } from './core/gauges-of.js';
import { LivenessPage } from './core/liveness-page.js';
import type { PageReader } from './core/page-reader.js';
import { FaultTally, type FaultCounts } from './core/scrape-fault.js';
import { EndpointDiscovery, type Resolve } from './endpoint-discovery.js';
import type { Endpoint, ObserverLog } from './endpoint.js';
import type { MetricsTarget } from './engine-metrics-client.js';
import { ObservedEndpoint, type PollingClient } from './observed-endpoint.js';

/** The part of an upstream that its observation reads. */
export interface ObservedUpstream extends Pick<
  UpstreamConfig,
  'name' | 'url' | 'discover' | 'engine' | 'observe' | 'credentialFile'
> {
  /** Models that are asked of it: series of others do not count. Absent or unknown to the engine: all count. */
  readonly servedNames?: readonly string[];
}

/** What the observer needs of the world. */
export interface ObserverWorld {
  readonly clock: Clock;
  readonly resolve: Resolve;
  readonly openClient: (target: MetricsTarget, clock: Clock) => PollingClient;
  readonly readCredential: (file: string) => Promise<string | undefined>;
  readonly random: () => number;
  readonly log: ObserverLog;
}

/** What became of the engines of one upstream, those that have left too: these numbers never fall. */
export interface ObservationTotals {
  readonly faults: FaultCounts;
  readonly staleCount: number;
}

export interface EnginesListener {
  onEndpoints(upstream: string): void;
  onSnapshot(endpoint: Endpoint): void;
}

/** The engines of one upstream, whoever watches them. */
export interface UpstreamView {
  readonly endpoints: readonly Endpoint[];
  readonly totals: ObservationTotals;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Member {
  readonly endpoint: Endpoint;
  readonly observed: ObservedEndpoint | undefined;
}

/** The engines of one upstream: which there are now, and what each of them says. */
export class UpstreamEngines implements UpstreamView {
  readonly #faults = new FaultTally();
  readonly #discovery: EndpointDiscovery | undefined;
  #members: readonly Member[];
  #endpoints: readonly Endpoint[];
  #staleCount = 0;
  #started = false;
  #stopped = false;

  constructor(
    private readonly upstream: ObservedUpstream,
    private readonly world: ObserverWorld,
    private readonly listener: EnginesListener,
  ) {
    this.#members = [this.#join(placeOf(upstream.url))];
    this.#endpoints = this.#members.map(({ endpoint }) => endpoint);
    if (upstream.discover === 'dns') this.#discovery = this.#discover();
  }

  /** The same list until it changes; never empty. */
  get endpoints(): readonly Endpoint[] {
    return this.#endpoints;
  }

  get totals(): ObservationTotals {
    return { faults: this.#faults.counts, staleCount: this.#staleCount };
  }

  /** Settles when the name has been looked up once. */
  async start(): Promise<void> {
    await this.#discovery?.start();
    // Where addresses were found, those are polled already.
    if (this.#started || this.#stopped) return;
    this.#started = true;
    for (const { observed } of this.#members) observed?.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#discovery?.stop();
    await Promise.all(this.#members.flatMap(({ observed }) => (observed === undefined ? [] : [observed.stop()])));
  }

  #discover(): EndpointDiscovery {
    const { name, url } = this.upstream;
    const { resolve, clock, log } = this.world;
    return new EndpointDiscovery(hostOf(url), resolve, clock, {
      onAddresses: (addresses) => this.#become(addresses.map((address) => placeOf(url, address))),
      onFailure: (error) => log('warn', { upstream: name, reason: codeOf(error) }, 'the upstream cannot be looked up'),
    });
  }

  #become(places: readonly EndpointPlace[]): void {
    const before = this.#members;
    const kept = new Map(before.map((member) => [member.endpoint.id, member]));
    this.#members = places.map((place) => kept.get(place.id) ?? this.#join(place));
    this.#endpoints = this.#members.map(({ endpoint }) => endpoint);
    const added = this.#members.filter((member) => !before.includes(member));
    const removed = before.filter((member) => !this.#members.includes(member));
    for (const { observed } of this.#started ? added : this.#members) observed?.start();
    for (const { observed } of removed) void observed?.stop();
    this.#started = true;
    this.#tellChange(added, removed);
  }

  #tellChange(added: readonly Member[], removed: readonly Member[]): void {
    const { name } = this.upstream;
    const fields = { upstream: name, added: idsOf(added), removed: idsOf(removed) };
    this.world.log('info', fields, 'the engines of the upstream are others now');
    this.listener.onEndpoints(name);
  }

  #join(place: EndpointPlace): Member {
    const openPage = this.#pageOpener();
    const observe = openPage === undefined ? undefined : this.upstream.observe;
    if (openPage === undefined || observe === undefined)
      return { endpoint: unobserved(this.upstream, place), observed: undefined };
    const { clock, openClient, random, log } = this.world;
    const { path, timeoutMs, intervalMs, staleAfter } = observe;
    const observed: ObservedEndpoint = new ObservedEndpoint({
      upstream: this.upstream.name,
      place,
      client: openClient({ place, path, timeoutMs }, clock),
      openPage,
      credential: () => this.#credential(),
      ...{ intervalMs, staleAfter, clock, random, log },
      onSnapshot: (endpoint) => this.listener.onSnapshot(endpoint),
      onCounts: (faults, turnedStale) => {
        this.#count(faults, turnedStale);
        if (turnedStale) this.listener.onSnapshot(observed);
      },
    });
    return { endpoint: observed, observed };
  }

  #pageOpener(): (() => PageReader) | undefined {
    const { engine, servedNames = [] } = this.upstream;
    const gauges = gaugesOf(engine);
    if (gauges === 'nothing') return undefined;
    return gauges === 'liveness' ? () => new LivenessPage() : () => new GaugePage(gauges, servedNames);
  }

  async #credential(): Promise<string | undefined> {
    const { credentialFile } = this.upstream;
    return credentialFile === undefined ? undefined : this.world.readCredential(credentialFile);
  }

  #count(faults: Partial<FaultCounts>, turnedStale: boolean): void {
    this.#faults.add(faults);
    if (turnedStale) this.#staleCount += 1;
  }
}

const idsOf = (members: readonly Member[]): string[] => members.map(({ endpoint }) => endpoint.id);

const unobserved = ({ name }: ObservedUpstream, place: EndpointPlace): Endpoint => ({
  ...place,
  upstream: name,
  state: 'unobserved',
  snapshot: undefined,
  degraded: false,
  faults: new FaultTally().counts,
  staleCount: 0,
});

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);
