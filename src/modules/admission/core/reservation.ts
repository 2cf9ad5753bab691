import type { Candidate, PoolView } from './admission-tests.js';
import type { EndpointChoice } from './endpoint-choice.js';
import type { EndpointLedger } from './endpoint-ledger.js';
import type { TestName } from './pool-types.js';
import type { Waiter } from './waiter.js';

const MEMORY: ReadonlySet<TestName | undefined> = new Set<TestName>(['kv', 'kv_gauge']);

/** An endpoint that is kept clear of its own and lower bands until a request fits there. */
export interface KeptClear {
  readonly endpoint: EndpointLedger;
  readonly waiter: Waiter;
  readonly band: number;
}

/**
 * Room for those who would never find enough of it at once: a request with several answers, or with much KV memory,
 * whose turn it is. Smaller ones would take each place that frees, and those behind it would wait with it. One request
 * at a time, the highest band first.
 */
export class Reservation {
  kept: KeptClear | undefined;

  constructor(private readonly choice: EndpointChoice) {}

  /** A request has been tried in vain. */
  held(waiter: Waiter, candidate: Candidate, view: PoolView): void {
    if (!needsRoom(candidate, waiter.heldBy)) return;
    if (this.kept?.waiter === waiter ? stands(this.kept, view) : (this.kept?.band ?? Infinity) <= waiter.band) return;
    const endpoint = this.choice.clearFor({ ...candidate, reserves: true }, view);
    this.kept = endpoint === undefined ? undefined : { endpoint, waiter, band: waiter.band };
  }

  /** It waits no more. */
  ended(waiter: Waiter): void {
    if (this.kept?.waiter === waiter) this.kept = undefined;
  }

  /** Places that are kept from a request, over all endpoints. */
  placesKeptFrom(waiter: Waiter): number {
    if (this.kept === undefined || this.kept.waiter === waiter || waiter.band < this.kept.band) return 0;
    return this.kept.waiter.request.places;
  }
}

const needsRoom = ({ places }: Candidate, heldBy: TestName | undefined): boolean => places > 1 || MEMORY.has(heldBy);

const stands = ({ endpoint }: KeptClear, { endpoints, now }: PoolView): boolean =>
  endpoints.some((one) => one === endpoint && now >= endpoint.downUntil);
