import { readFile } from 'node:fs/promises';
import type { Clock } from '../../common/clock.js';
import { credentialFrom } from './core/credential.js';
import { resolveAll } from './endpoint-discovery.js';
import type { Endpoint } from './endpoint.js';
import { EngineMetricsClient } from './engine-metrics-client.js';
import {
  UpstreamEngines,
  type EnginesListener,
  type ObservationTotals,
  type ObservedUpstream,
  type ObserverWorld,
  type UpstreamView,
} from './upstream-engines.js';

/** A name server that is silent does not hold up the start for longer. */
const FIRST_LOOK_UP_MS = 2000;

/** Watches the engines of an upstream. */
export type OpenUpstream = (upstream: ObservedUpstream, listener: EnginesListener) => UpstreamView;

/** Which engines there are, and how full each of them says it is. */
export class EngineRegistry {
  readonly #upstreams: ReadonlyMap<string, UpstreamView>;
  readonly #endpointListeners: ((upstream: string) => void)[] = [];
  readonly #snapshotListeners: ((endpoint: Endpoint) => void)[] = [];

  /** `world` replaces parts of the real one; `open` the watching itself. */
  constructor(
    upstreams: readonly ObservedUpstream[],
    private readonly clock: Clock,
    world: Partial<Omit<ObserverWorld, 'clock'>> = {},
    open?: OpenUpstream,
  ) {
    const full: ObserverWorld = { ...REAL_WORLD, log: () => undefined, ...world, clock };
    const listener = {
      onEndpoints: (upstream: string): void => this.#endpointListeners.forEach((listen) => listen(upstream)),
      onSnapshot: (endpoint: Endpoint): void => this.#snapshotListeners.forEach((listen) => listen(endpoint)),
    };
    const watch = open ?? ((one): UpstreamView => new UpstreamEngines(one, full, listener));
    this.#upstreams = new Map(upstreams.map((one) => [one.name, watch(one, listener)]));
  }

  /**
   * The engines of an upstream now, in an order that is the same on every gateway: at least one, and the same list
   * until `onEndpoints` tells of another. Before the start, and where its name has never been found, the URL as it is.
   */
  endpoints(upstream: string): readonly Endpoint[] {
    return this.#of(upstream).endpoints;
  }

  /** What was counted for an upstream, engines that have left included. */
  totals(upstream: string): ObservationTotals {
    return this.#of(upstream).totals;
  }

  /** Calls back after the engines of an upstream have become others. */
  onEndpoints(listener: (upstream: string) => void): void {
    this.#endpointListeners.push(listener);
  }

  /** Calls back after every good poll, and when an engine has turned stale. */
  onSnapshot(listener: (endpoint: Endpoint) => void): void {
    this.#snapshotListeners.push(listener);
  }

  /** Begins to poll. Settles when every name has been looked up once, or has taken too long for that. */
  async start(): Promise<void> {
    const started = Promise.all([...this.#upstreams.values()].map((upstream) => upstream.start()));
    const { promise: tooLong, resolve } = Promise.withResolvers<undefined>();
    const timer = this.clock.after(FIRST_LOOK_UP_MS, () => resolve(undefined));
    await Promise.race([started, tooLong]);
    timer.cancel();
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#upstreams.values()].map((upstream) => upstream.stop()));
  }

  #of(upstream: string): UpstreamView {
    const engines = this.#upstreams.get(upstream);
    if (engines === undefined) throw new Error(`no upstream is called ${upstream}`);
    return engines;
  }
}

const REAL_WORLD: Omit<ObserverWorld, 'clock' | 'log'> = {
  resolve: resolveAll,
  openClient: (target, clock) => new EngineMetricsClient(target, clock),
  readCredential,
  random: Math.random,
};

/** Read anew for every poll: files are replaced while the gateway runs. One that is not to be had leaves the poll without. */
async function readCredential(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return credentialFrom(text);
}
