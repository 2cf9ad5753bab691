import type { Clock } from '../../common/clock.js';
import type { Usage } from '../../common/canonical/usage.js';
import type { Reservation } from '../budgets/reservation.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import type { GatewayProblem } from '../../common/problem/gateway-problem.js';
import type { Lease, PoolListener, Refusal, RefusalReason, TestName, Ticket } from './core/pool-types.js';
import { refusalProblem } from './core/refusal-problem.js';

/** Somebody who may leave while waiting. The signal is asked for only when there is a wait. */
export interface Departing {
  readonly requestId?: string;
  readonly gone: boolean;
  /** The head of its response is out: turning it away can no longer have a status of its own. */
  readonly committed: boolean;
  readonly signal: AbortSignal;
  /** It has to wait, behind so many others of its band. */
  queued?(ahead: number): void;
  /** This test holds it back now, and another one did before, or none. */
  held?(test: string): void;
}

/** A held place on one engine. Disposing it twice frees it once. */
export interface Slot extends Disposable {
  /** The engine that was chosen; undefined: it has gone since. */
  readonly endpoint: Endpoint | undefined;
  /** Milliseconds that the request waited for it; 0: it did not have to. */
  readonly waitedMs: number;
  /** Prompt tokens that it was let in for. */
  readonly estimatedPromptTokens: number;
  /** What was set aside of the caller's budget. */
  readonly reservation: Reservation;
  /** The first token is on its way to the client. */
  firstToken(): void;
  /** What the engine counted. */
  settle(usage: Usage): void;
  /**
   * The endpoint refused the connection: the slot is given back, and another asked for in front of those that wait.
   * Settles with whether there is one now; rejects as `acquire` does.
   */
  moveOn(client: Departing): Promise<boolean>;
}

/** One request's wait for a lease: most end before they begin, and those cost no promise. */
export class LeaseWait implements PoolListener {
  #lease: Lease | undefined;
  #problem: GatewayProblem | undefined;
  #settle: { readonly resolve: (lease: Lease) => void; readonly reject: (error: Error) => void } | undefined;
  #leave: (() => void) | undefined;

  constructor(
    private readonly client: Departing,
    private readonly band: string,
  ) {}

  /** What has been granted without a wait. Throws the problem of a refusal that came at once. */
  get atOnce(): Lease | undefined {
    if (this.#problem !== undefined) throw this.#problem;
    return this.#lease;
  }

  /**
   * Waits for what has not come at once. Rejects with the problem of a refusal, or with the client's reason if it
   * leaves: then nothing waits any more.
   */
  until(ticket: Ticket): Promise<Lease> {
    return new Promise((resolve, reject) => {
      const { signal } = this.client;
      this.#settle = { resolve, reject };
      this.#leave = () => {
        ticket.cancel();
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', this.#leave, { once: true });
    });
  }

  granted(lease: Lease): void {
    this.#lease = lease;
    this.#end();
    this.#settle?.resolve(lease);
  }

  refused(refusal: Refusal, retryAfterSeconds: number, why?: RefusalReason): void {
    this.#problem = refusalProblem(refusal, retryAfterSeconds, this.band, why);
    this.#end();
    this.#settle?.reject(this.#problem);
  }

  committed(): boolean {
    return this.client.committed;
  }

  get requestId(): string | undefined {
    return this.client.requestId;
  }

  queued(ahead: number): void {
    this.client.queued?.(ahead);
  }

  held(test: TestName): void {
    this.client.held?.(test);
  }

  #end(): void {
    if (this.#leave !== undefined) this.client.signal.removeEventListener('abort', this.#leave);
  }
}

/** What a slot needs of the controller that granted it. */
export interface SlotTerms {
  readonly estimatedPromptTokens: number;
  readonly reservation: Reservation;
  readonly band: string;
  readonly clock: Clock;
  readonly endpointOf: (id: string) => Endpoint | undefined;
  readonly learn: (usage: Usage) => void;
}

/** A slot that follows its request from one endpoint to the next. */
export class HeldSlot implements Slot {
  #waitedMs: number;

  constructor(
    private lease: Lease,
    private readonly terms: SlotTerms,
  ) {
    this.#waitedMs = lease.waitedMs;
  }

  get endpoint(): Endpoint | undefined {
    return this.terms.endpointOf(this.lease.endpoint);
  }

  get waitedMs(): number {
    return this.#waitedMs;
  }

  get estimatedPromptTokens(): number {
    return this.terms.estimatedPromptTokens;
  }

  get reservation(): Reservation {
    return this.terms.reservation;
  }

  firstToken(): void {
    this.lease.firstToken();
  }

  settle(usage: Usage): void {
    this.lease.settle(usage.promptTokens, usage.completionTokens);
    this.terms.learn(usage);
  }

  async moveOn(client: Departing): Promise<boolean> {
    const wait = new LeaseWait(client, this.terms.band);
    const ticket = this.lease.refused(wait);
    if (ticket === undefined) return false;
    this.lease = wait.atOnce ?? (await this.#waitFor(wait, ticket));
    return true;
  }

  async #waitFor(wait: LeaseWait, ticket: Ticket): Promise<Lease> {
    const { clock } = this.terms;
    const since = clock.now();
    const lease = await wait.until(ticket);
    this.#waitedMs += clock.now() - since;
    return lease;
  }

  [Symbol.dispose](): void {
    this.lease.release();
  }
}
