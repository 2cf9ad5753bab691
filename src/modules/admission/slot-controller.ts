import type { Clock, Timer } from '../../common/clock.js';
import { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { Principal } from '../../common/principal.js';

/** The part of the configuration that admission reads. */
export interface AdmissionPolicy {
  readonly retryAfterMs: number;
  /** Highest first. */
  readonly bands: readonly BandPolicy[];
}

export interface BandPolicy {
  readonly name: string;
  /** Requests that may wait, for one upstream. */
  readonly capacity: number;
  readonly ttlMs: number;
}

export interface UpstreamSlots {
  readonly name: string;
  readonly slots: { readonly limit: number };
}

/** A held place on one upstream. Disposing it twice frees it once. */
export interface Slot extends Disposable {
  readonly upstream: string;
  /** Milliseconds that the request waited for it; 0: it did not have to. */
  readonly waitedMs: number;
}

/** Somebody who may leave while waiting. The signal is asked for only when there is a wait. */
export interface Departing {
  readonly gone: boolean;
  readonly signal: AbortSignal;
}

/** What one upstream's queue looks like. */
export interface UpstreamSnapshot {
  readonly upstream: string;
  readonly inUse: number;
  readonly limit: number;
  readonly waiting: readonly { readonly band: string; readonly depth: number }[];
}

interface Waiter {
  grant(): void;
  refuse(problem: GatewayProblem): void;
}

/**
 * Grants slots, keyed by upstream: never more than its limit, higher bands first, in order of arrival within a band.
 * One instance serves every dialect.
 */
export class SlotController {
  readonly #pools: ReadonlyMap<string, Pool>;
  #draining = false;

  constructor(
    private readonly policy: AdmissionPolicy,
    upstreams: readonly UpstreamSlots[],
    private readonly clock: Clock,
  ) {
    this.#pools = new Map(upstreams.map(({ name, slots }) => [name, new Pool(name, slots.limit, policy.bands.length)]));
  }

  /**
   * Settles with a slot, at once where one is free. Rejects with a GatewayProblem (`queue-full`, `queue-timeout`,
   * `draining`), or with the signal's reason if the caller leaves; then nothing waits any more.
   */
  acquire(upstream: string, caller: Principal, client: Departing): Promise<Slot> {
    const pool = this.#pools.get(upstream);
    if (pool === undefined) return Promise.reject(new Error(`no upstream is called ${upstream}`));
    if (client.gone) return Promise.reject(client.signal.reason as Error);
    if (pool.isOpen()) return Promise.resolve(pool.take(0));
    if (this.#draining) return Promise.reject(drainingProblem(this.policy));
    const band = this.#bandOf(caller);
    if (pool.depth(band.index) >= band.policy.capacity) return Promise.reject(this.#queueFull(band.policy));
    return this.#wait(pool, band, client.signal);
  }

  /** Who runs and who waits; a copy. */
  snapshot(): readonly UpstreamSnapshot[] {
    return [...this.#pools.values()].map((pool) => ({
      upstream: pool.name,
      inUse: pool.inUse,
      limit: pool.limit,
      waiting: this.policy.bands.map(({ name }, index) => ({ band: name, depth: pool.depth(index) })),
    }));
  }

  /** From now on nobody waits: who finds no free slot is turned away, and so are those in the queue. */
  drain(): void {
    this.#draining = true;
    for (const pool of this.#pools.values()) pool.refuseAll(drainingProblem(this.policy));
  }

  #bandOf(caller: Principal): { index: number; policy: BandPolicy } {
    const found = this.policy.bands.findIndex(({ name }) => name === caller.band);
    const index = found < 0 ? this.policy.bands.length - 1 : found;
    const policy = this.policy.bands[index];
    if (policy === undefined) throw new Error('no bands are configured');
    return { index, policy };
  }

  #wait(pool: Pool, band: { index: number; policy: BandPolicy }, signal: AbortSignal): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const since = this.clock.now();
      const leave = (error: Error): void => {
        pool.remove(band.index, waiter);
        done();
        reject(error);
      };
      const onAbort = (): void => leave(signal.reason as Error);
      const timer: Timer = this.clock.after(band.policy.ttlMs, () => leave(timedOut(band.policy)));
      const done = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        grant: () => {
          done();
          resolve(pool.take(this.clock.now() - since));
        },
        refuse: (problem) => {
          done();
          reject(problem);
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      pool.enqueue(band.index, waiter);
    });
  }

  #queueFull(band: BandPolicy): GatewayProblem {
    return new GatewayProblem('queue-full', {
      detail: `All slots are taken and ${band.capacity} requests of band ${band.name} wait already: overloaded.`,
      retryAfterSeconds: Math.ceil(this.policy.retryAfterMs / 1000),
    });
  }
}

const timedOut = (band: BandPolicy): GatewayProblem =>
  new GatewayProblem('queue-timeout', {
    detail: `No slot came free within the ${band.ttlMs / 1000} s that band ${band.name} waits (timeout).`,
  });

const drainingProblem = (policy: AdmissionPolicy): GatewayProblem =>
  new GatewayProblem('draining', {
    detail: 'This gateway is shutting down and overloaded by that: another one will take the request.',
    retryAfterSeconds: Math.ceil(policy.retryAfterMs / 1000),
  });

/** The places of one upstream, and who waits for one. */
class Pool {
  inUse = 0;
  readonly #queues: Set<Waiter>[];

  constructor(
    readonly name: string,
    readonly limit: number,
    bandCount: number,
  ) {
    this.#queues = Array.from({ length: bandCount }, () => new Set<Waiter>());
  }

  /** A newcomer may have a slot without passing anyone. */
  isOpen(): boolean {
    return this.inUse < this.limit && this.#queues.every((queue) => queue.size === 0);
  }

  depth(band: number): number {
    return this.#queues[band]?.size ?? 0;
  }

  take(waitedMs: number): Slot {
    this.inUse += 1;
    let held = true;
    return {
      upstream: this.name,
      waitedMs,
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        this.inUse -= 1;
        this.#grantNext();
      },
    };
  }

  enqueue(band: number, waiter: Waiter): void {
    this.#queues[band]?.add(waiter);
  }

  remove(band: number, waiter: Waiter): void {
    this.#queues[band]?.delete(waiter);
  }

  refuseAll(problem: GatewayProblem): void {
    for (const queue of this.#queues) {
      const waiting = [...queue];
      queue.clear();
      for (const waiter of waiting) waiter.refuse(problem);
    }
  }

  #grantNext(): void {
    for (const queue of this.#queues) {
      for (const waiter of queue) {
        if (this.inUse >= this.limit) return;
        queue.delete(waiter);
        waiter.grant();
      }
    }
  }
}
