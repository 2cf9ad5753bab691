import type { CanonicalRequest } from '../../common/canonical/canonical-request.js';
import type { Usage } from '../../common/canonical/usage.js';
import type { Clock } from '../../common/clock.js';
import type { Principal } from '../../common/principal.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { Pool } from './core/pool.js';
import type { Lease, PoolPolicy, PoolRequest } from './core/pool-types.js';
import { TokenEstimates } from './core/token-estimates.js';
import { poolPolicyOf, type AdmissionPolicy, type UpstreamPolicy } from './pool-policy.js';
import { queueSnapshot, type QueueSnapshot } from './queue-snapshot.js';
import { HeldSlot, LeaseWait, type Departing, type Slot } from './slot.js';
import { poolSnapshot, type UpstreamSnapshot } from './upstream-snapshot.js';

/** Which engines there are, and what they say of themselves. */
export interface EngineView {
  endpoints(upstream: string): readonly Endpoint[];
  onEndpoints(listener: (upstream: string) => void): void;
  /** Calls back after every good poll, and when an engine has turned stale. */
  onSnapshot(listener: (endpoint: Endpoint) => void): void;
}

/** Who asks for a slot, on which upstream, and what for. */
export interface SlotRequest {
  readonly upstream: string;
  readonly caller: Principal;
  /** What the engine will be asked; undefined: the upstream is none, and the request takes one place. */
  readonly request: CanonicalRequest | undefined;
  /** Tokens of prompt and answer together that the model holds. */
  readonly contextLength: number;
}

/**
 * Grants slots, keyed by upstream and shared by every dialect: bands from high to low, tenants by the service they
 * have had, on the engine that has the least to do, never more than it can hold.
 */
export class SlotController {
  readonly #pools: ReadonlyMap<string, Pool>;
  readonly #estimates = new TokenEstimates();
  readonly #bands: ReadonlyMap<string, number>;

  constructor(
    policy: AdmissionPolicy,
    upstreams: readonly UpstreamPolicy[],
    private readonly engines: EngineView,
    private readonly clock: Clock,
    random: () => number = Math.random,
  ) {
    this.#bands = new Map(policy.bands.map(({ name }, index) => [name, index]));
    this.#pools = new Map(upstreams.map((one) => [one.name, new Pool(poolPolicyOf(policy, one), clock, random)]));
    for (const { name } of upstreams) this.#setEndpoints(name);
    engines.onEndpoints((upstream) => this.#setEndpoints(upstream));
    engines.onSnapshot(({ upstream, id, state, snapshot }) => {
      this.#pools.get(upstream)?.read(id, state === 'stale' ? undefined : snapshot);
    });
  }

  /**
   * A slot, at once where one is free. Throws or rejects with a GatewayProblem (`queue-full`, `queue-timeout`,
   * `engine-saturated`, `draining`), or with the client's reason if it leaves; then nothing waits any more.
   */
  acquire(asked: SlotRequest, client: Departing): Slot | Promise<Slot> {
    const pool = this.#pools.get(asked.upstream);
    if (pool === undefined) throw new Error(`no upstream is called ${asked.upstream}`);
    if (client.gone) throw client.signal.reason as Error;
    const wait = new LeaseWait(client, asked.caller.band);
    const request = this.#poolRequest(asked, pool.policy);
    const ticket = pool.enqueue(request, wait);
    const lease = wait.atOnce;
    if (lease !== undefined) return this.#slotOf(asked, request, lease);
    return wait.until(ticket).then((granted) => this.#slotOf(asked, request, granted));
  }

  /** How many tokens a prompt is likely to have, by what the engines have counted of others. */
  promptTokens(request: CanonicalRequest, { tenant }: Principal, contextLength: number): number {
    return this.#estimates.estimate(request, tenant, contextLength).promptTokens;
  }

  /** What of each upstream's slots is taken, and who waits; a copy. */
  snapshot(): readonly UpstreamSnapshot[] {
    const now = this.clock.now();
    return [...this.#pools.values()].map((pool) => poolSnapshot(pool, now));
  }

  /** Who waits on each upstream, for what, and whose turn it is; a copy, made for a person who looks. */
  queues(): readonly QueueSnapshot[] {
    const now = this.clock.now();
    return [...this.#pools.values()].map((pool) => queueSnapshot(pool, now));
  }

  /** From now on nobody waits: who finds no free slot is turned away, and so is who waits and has been sent nothing. */
  drain(): void {
    for (const pool of this.#pools.values()) pool.drain();
  }

  /** The drain may last no longer: everybody who still waits is turned away. */
  endDrain(): void {
    for (const pool of this.#pools.values()) pool.endDrain();
  }

  #slotOf(asked: SlotRequest, { promptTokens }: PoolRequest, lease: Lease): Slot {
    const { request, caller, upstream } = asked;
    const learn = (usage: Usage): void => {
      if (request !== undefined) this.#estimates.learn(request, caller.tenant, usage);
    };
    const endpointOf = (id: string): Endpoint | undefined => this.#endpointOf(upstream, id);
    return new HeldSlot(lease, { endpointOf, learn, band: caller.band, estimatedPromptTokens: promptTokens });
  }

  #endpointOf(upstream: string, id: string): Endpoint | undefined {
    return this.engines.endpoints(upstream).find((endpoint) => endpoint.id === id);
  }

  #poolRequest({ caller, request, contextLength }: SlotRequest, policy: PoolPolicy): PoolRequest {
    const band = this.#bands.get(caller.band) ?? policy.bands.length - 1;
    if (request === undefined) {
      return {
        tenant: caller.tenant,
        band,
        places: 1,
        promptTokens: 1,
        cachedTokens: 0,
        outputTokens: 0,
        stretchable: false,
      };
    }
    const { promptTokens, outputTokens } = this.#estimates.estimate(request, caller.tenant, contextLength);
    const places = Math.min(request.choices, policy.slotsPerEndpoint);
    return {
      tenant: caller.tenant,
      band,
      places,
      promptTokens,
      cachedTokens: 0,
      outputTokens,
      stretchable: request.stream,
    };
  }

  #setEndpoints(upstream: string): void {
    this.#pools.get(upstream)?.setEndpoints(this.engines.endpoints(upstream).map(({ id }) => id));
  }
}
