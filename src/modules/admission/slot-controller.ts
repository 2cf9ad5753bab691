import type { CanonicalRequest } from '../../common/canonical/canonical-request.js';
import type { Usage } from '../../common/canonical/usage.js';
import type { Clock } from '../../common/clock.js';
import type { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { Principal } from '../../common/principal.js';
import type { Reservation } from '../budgets/reservation.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { Pool } from './core/pool.js';
import type { Lease, PoolPolicy, PoolRequest } from './core/pool-types.js';
import type { SharedLedger } from './core/shared-ledger.js';
import type { PoolSharing } from './core/sharing.js';
import { readingOf } from './reading-of.js';
import { ToldRefusals } from './core/told-refusals.js';
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

/** How pools share their engines with those of other gateways. */
export interface PoolSharings {
  /** undefined: there is nobody to share with. `intervalMs`: between two readings of gauges; undefined: there are none. */
  sharingOf(upstream: string, intervalMs: number | undefined): PoolSharing | undefined;
  /** The pool that was made with that: from now on it tells the others, and hears of them. */
  serve(upstream: string, pool: Pool): void;
}

/** What a controller may be given besides. */
export interface ControllerMeans {
  /** 0 to 1; absent: the machine's. */
  readonly random?: () => number;
  /** How to share the engines with other gateways; absent: there are none. */
  readonly sharing?: PoolSharings;
}

/** Who asks for a slot, on which upstream, and what for. */
export interface SlotRequest {
  readonly upstream: string;
  readonly caller: Principal;
  /** What was set aside for it of the caller's budget: whoever has no reservation gets no slot. */
  readonly reservation: Reservation;
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
  readonly #refusals = new ToldRefusals();

  constructor(
    policy: AdmissionPolicy,
    upstreams: readonly UpstreamPolicy[],
    private readonly engines: EngineView,
    private readonly clock: Clock,
    { random = Math.random, sharing }: ControllerMeans = {},
  ) {
    this.#bands = new Map(policy.bands.map(({ name }, index) => [name, index]));
    const poolOf = (one: UpstreamPolicy): Pool =>
      new Pool(poolPolicyOf(policy, one), clock, random, sharing?.sharingOf(one.name, one.observe?.intervalMs));
    this.#pools = new Map(upstreams.map((one) => [one.name, poolOf(one)]));
    for (const { name } of upstreams) this.#setEndpoints(name);
    for (const [name, pool] of this.#pools) sharing?.serve(name, pool);
    engines.onEndpoints((upstream) => this.#setEndpoints(upstream));
    engines.onSnapshot(({ upstream, id, state, snapshot }) => {
      this.#pools.get(upstream)?.read(id, state === 'stale' ? undefined : snapshot && readingOf(snapshot));
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

  /** Some request would be turned away now, whatever it asked for: it is worth asking `turnsAway`. */
  get turnsSomeAway(): boolean {
    for (const pool of this.#pools.values()) if (pool.refusals.isSomeCertain) return true;
    return false;
  }

  /** The problem of a request of that caller that is turned away, whatever it asks for; undefined: `acquire` will tell. */
  turnsAway(upstream: string, { band }: Principal): GatewayProblem | undefined {
    const pool = this.#pools.get(upstream);
    const refused = pool?.refusals.certain(this.#bandOf(band, pool.policy), this.clock.now());
    return refused && this.#refusals.of(refused, band);
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

  /** What other gateways are to know of each upstream; empty where there is none. */
  shared(): ReadonlyMap<string, SharedLedger> {
    const now = this.clock.now();
    const told = new Map<string, SharedLedger>();
    for (const [name, pool] of this.#pools) {
      const ledger = pool.shared(now);
      if (ledger !== undefined) told.set(name, ledger);
    }
    return told;
  }

  /** What another gateway has told of its upstreams; undefined: it has fallen silent. */
  remote(peer: string, ledgers: ReadonlyMap<string, SharedLedger> | undefined): void {
    for (const [name, pool] of this.#pools) pool.remote(peer, ledgers?.get(name));
  }

  /** All other gateways have told, one after the other. */
  afterNews(): void {
    for (const pool of this.#pools.values()) pool.afterNews();
  }

  /** What other workers are to know of these pools. */
  tell(upstreams: Iterable<string>): Readonly<Record<string, SharedLedger>> {
    const now = this.clock.now();
    const told: Record<string, SharedLedger> = {};
    for (const name of upstreams) {
      const ledger = this.#pools.get(name)?.shared(now);
      if (ledger !== undefined) told[name] = ledger;
    }
    return told;
  }

  /** What another worker tells of its pools; undefined: it has gone, and holds nothing any more. */
  hear(peer: string, ledgers: Readonly<Record<string, SharedLedger>> | undefined): void {
    if (ledgers === undefined) for (const pool of this.#pools.values()) pool.remote(peer, undefined);
    else for (const [name, ledger] of Object.entries(ledgers)) this.#pools.get(name)?.remote(peer, ledger);
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
    const { request, caller, upstream, reservation } = asked;
    const learn = (usage: Usage): void => {
      if (request !== undefined) this.#estimates.learn(request, caller.tenant, usage);
    };
    const endpointOf = (id: string): Endpoint | undefined => this.#endpointOf(upstream, id);
    const estimatedPromptTokens = request === undefined ? 0 : promptTokens;
    const { clock } = this;
    return new HeldSlot(lease, { clock, endpointOf, learn, band: caller.band, estimatedPromptTokens, reservation });
  }

  #endpointOf(upstream: string, id: string): Endpoint | undefined {
    return this.engines.endpoints(upstream).find((endpoint) => endpoint.id === id);
  }

  #poolRequest({ caller, request, contextLength }: SlotRequest, policy: PoolPolicy): PoolRequest {
    const band = this.#bandOf(caller.band, policy);
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

  #bandOf(name: string, { bands }: PoolPolicy): number {
    return this.#bands.get(name) ?? bands.length - 1;
  }

  #setEndpoints(upstream: string): void {
    this.#pools.get(upstream)?.setEndpoints(this.engines.endpoints(upstream).map(({ id }) => id));
  }
}
