import type { Usage } from '../../common/canonical/usage.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import type { Lease, PoolListener, Ticket } from './core/pool-types.js';
import { refusalProblem } from './core/refusal-problem.js';

/** Somebody who may leave while waiting. The signal is asked for only when there is a wait. */
export interface Departing {
  readonly gone: boolean;
  /** The head of its response is out: turning it away can no longer have a status of its own. */
  readonly committed: boolean;
  readonly signal: AbortSignal;
}

/** A held place on one engine. Disposing it twice frees it once. */
export interface Slot extends Disposable {
  /** The engine that was chosen; undefined: it has gone since. */
  readonly endpoint: Endpoint | undefined;
  /** Milliseconds that the request waited for it; 0: it did not have to. */
  readonly waitedMs: number;
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

/**
 * Asks for a lease and waits for it; undefined: `ask` says that there is nothing to wait for. Rejects with the problem
 * of a refusal, or with the client's reason if it leaves: then nothing waits any more.
 */
export function leaseFor(
  client: Departing,
  band: string,
  ask: (listener: PoolListener) => Ticket | undefined,
): Promise<Lease | undefined> {
  return new Promise((resolve, reject) => {
    let ended = false;
    let waits = false;
    const end = (): void => {
      ended = true;
      if (waits) client.signal.removeEventListener('abort', leave);
    };
    const leave = (): void => {
      ticket?.cancel();
      reject(client.signal.reason as Error);
    };
    const ticket = ask({
      granted: (lease) => {
        end();
        resolve(lease);
      },
      refused: (refusal, retryAfterSeconds) => {
        end();
        reject(refusalProblem(refusal, retryAfterSeconds, band));
      },
      committed: () => client.committed,
    });
    if (ended) return;
    if (ticket === undefined) return resolve(undefined);
    waits = true;
    client.signal.addEventListener('abort', leave, { once: true });
  });
}

/** What a slot needs of the controller that granted it. */
export interface SlotTerms {
  readonly band: string;
  readonly endpointOf: (id: string) => Endpoint | undefined;
  readonly learn: (usage: Usage) => void;
}

/** A slot that follows its request from one endpoint to the next. */
export class HeldSlot implements Slot {
  constructor(
    private lease: Lease,
    private readonly terms: SlotTerms,
  ) {}

  get endpoint(): Endpoint | undefined {
    return this.terms.endpointOf(this.lease.endpoint);
  }

  get waitedMs(): number {
    return this.lease.waitedMs;
  }

  firstToken(): void {
    this.lease.firstToken();
  }

  settle(usage: Usage): void {
    this.lease.settle(usage.promptTokens, usage.completionTokens);
    this.terms.learn(usage);
  }

  async moveOn(client: Departing): Promise<boolean> {
    const lease = await leaseFor(client, this.terms.band, (listener) => this.lease.refused(listener));
    if (lease === undefined) return false;
    this.lease = lease;
    return true;
  }

  [Symbol.dispose](): void {
    this.lease.release();
  }
}
