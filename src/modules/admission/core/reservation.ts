import type { Candidate, PoolView } from './admission-tests.js';
import type { EndpointChoice } from './endpoint-choice.js';
import type { TestName } from './pool-types.js';
import type { Waiter } from './waiter.js';

const MEMORY: ReadonlySet<TestName | undefined> = new Set<TestName>(['kv', 'kv_gauge']);

/** An endpoint that is kept clear of its own and lower bands until a request fits there. */
export interface KeptClear {
  /** Its id. */
  readonly endpoint: string;
  readonly band: number;
  readonly places: number;
  /** When the request came that it is kept clear for. */
  readonly since: number;
}

/** One for a request of this gateway. */
interface KeptHere extends KeptClear {
  readonly waiter: Waiter;
}

/** Which of two comes first: the higher band, then the older request. One at a time is enough, over all gateways. */
export const comesFirst = (a: KeptClear, b: KeptClear): boolean =>
  a.band === b.band ? a.since < b.since : a.band < b.band;

/**
 * Room for those who would never find enough of it at once: a request with several answers, or with much KV memory,
 * whose turn it is. Smaller ones would take each place that frees, and those behind it would wait with it. One request
 * at a time, the highest band first.
 */
export class Reservation {
  /** For a request of this gateway: it is what others are told. */
  here: KeptHere | undefined;

  constructor(
    private readonly choice: EndpointChoice,
    /** What other gateways tell of theirs; undefined: there are none. */
    private readonly others: { readonly kept: KeptClear | undefined } | undefined,
  ) {}

  /** The one that counts. */
  get kept(): KeptClear | undefined {
    const { here } = this;
    const away = this.others?.kept;
    return away === undefined || (here !== undefined && !comesFirst(away, here)) ? here : away;
  }

  /** The request of this gateway that an endpoint is kept clear for; undefined: there is none, or another's comes first. */
  get waiter(): Waiter | undefined {
    return this.here !== undefined && this.kept === this.here ? this.here.waiter : undefined;
  }

  /** A request has been tried in vain. */
  held(waiter: Waiter, candidate: Candidate, view: PoolView): void {
    const { here } = this;
    if (!needsRoom(candidate, waiter.heldBy)) return;
    if (here?.waiter === waiter ? stands(here, view) : (here?.band ?? Infinity) <= waiter.band) return;
    const endpoint = this.choice.clearFor({ ...candidate, reserves: true }, view);
    const { band, since, request } = waiter;
    this.here = endpoint && { endpoint: endpoint.id, waiter, band, since, places: request.places };
  }

  /** It waits no more. */
  ended(waiter: Waiter): void {
    if (this.here?.waiter === waiter) this.here = undefined;
  }

  /** Places that are kept from a request, over all endpoints. */
  placesKeptFrom(waiter: Waiter): number {
    const { kept } = this;
    return kept === undefined || this.waiter === waiter || waiter.band < kept.band ? 0 : kept.places;
  }
}

const needsRoom = ({ places }: Candidate, heldBy: TestName | undefined): boolean => places > 1 || MEMORY.has(heldBy);

const stands = ({ endpoint }: KeptClear, { endpoints, now }: PoolView): boolean =>
  endpoints.some(({ id, downUntil }) => id === endpoint && now >= downUntil);
