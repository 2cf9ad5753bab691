import { ADMISSION_TESTS, type AdmissionTest, type Candidate, type PoolView } from './admission-tests.js';
import type { EndpointLedger } from './endpoint-ledger.js';
import type { PoolPolicy, TestName } from './pool-types.js';

const LONG_RECENT_MS = 300_000;
/** Seconds of backlog that the lane seems to have more, so that the others keep clear of it. */
const LANE_PENALTY = { upper: 9, lower: 3 } as const;
const OCCUPIED_WEIGHT = 0.05;
const LONG_WEIGHT = 0.5;

/** What holds on an engine that has nothing to do, too. */
const WHEN_IDLE: ReadonlySet<TestName> = new Set(['reserved', 'long', 'strict_reserve']);

/** Why a request has to wait. */
export interface Held {
  readonly endpoint: undefined;
  readonly heldBy: TestName;
  /** By gauges on every endpoint. */
  readonly gaugesAlone: boolean;
}

/** Where a request goes, or why it has to wait. */
export type Choice = { readonly endpoint: EndpointLedger } | Held;

/** Where no endpoint serves, nothing is gained by keeping away from them: a request learns at once that they are gone. */
const isOtherUp = ({ lane, now }: PoolView): boolean => lane !== undefined && now >= lane.downUntil;

/** Chooses the endpoint with the least to do among those where a request passes every test. */
export class EndpointChoice {
  readonly #tests: readonly AdmissionTest[];
  readonly #testsWhenIdle: readonly AdmissionTest[];

  constructor(private readonly policy: PoolPolicy) {
    this.#tests = ADMISSION_TESTS.filter(
      ({ name, generating }) => policy.without?.has(name) !== true && (generating !== true || policy.generates),
    );
    this.#testsWhenIdle = this.#tests.filter(({ name }) => WHEN_IDLE.has(name));
  }

  /** The endpoint to keep clear for a request that finds no room: where the least has to end before it fits. */
  clearFor(candidate: Candidate, view: PoolView): EndpointLedger | undefined {
    let emptiest: EndpointLedger | undefined;
    for (const endpoint of view.endpoints) {
      if (view.now < endpoint.downUntil || this.#testsWhenIdle.some((test) => !test.passes(candidate, endpoint, view)))
        continue;
      if (emptiest === undefined || endpoint.occupied() < emptiest.occupied()) emptiest = endpoint;
    }
    return emptiest;
  }

  /** `lastLongAt`: when a long prompt was last granted. */
  choose(candidate: Candidate, view: PoolView, lastLongAt: number): Choice {
    let best: EndpointLedger | undefined;
    let bestScore = Infinity;
    let heldBy: TestName = 'ready';
    let gaugesAlone = view.endpoints.length > 0;
    for (const endpoint of view.endpoints) {
      const fault = this.#faultOf(candidate, endpoint, view);
      if (fault !== undefined) {
        // An endpoint that is not ready is the reason only where no other could have taken it.
        if (fault !== 'ready') heldBy = fault.name;
        gaugesAlone &&= fault !== 'ready' && fault.gauge === true;
        continue;
      }
      const score = this.#score(candidate, endpoint, view, lastLongAt);
      if (score < bestScore) [best, bestScore] = [endpoint, score];
    }
    return best === undefined ? { endpoint: undefined, heldBy, gaugesAlone } : { endpoint: best };
  }

  #faultOf(candidate: Candidate, endpoint: EndpointLedger, view: PoolView): AdmissionTest | 'ready' | undefined {
    if (view.now < endpoint.downUntil && isOtherUp(view)) return 'ready';
    const occupied = endpoint.occupied();
    if (occupied > 0 && occupied + candidate.places > (endpoint.slowStart ?? Infinity)) return 'ready';
    // Progress: an idle engine takes any request, whatever the ceilings leave over; one that has its lane, there.
    const tests = occupied === 0 ? this.#testsWhenIdle : this.#tests;
    return tests.find((test) => !test.passes(candidate, endpoint, view));
  }

  #score(candidate: Candidate, endpoint: EndpointLedger, view: PoolView, lastLongAt: number): number {
    const longRecently = view.longWaits || view.share?.told === false || view.now - lastLongAt < LONG_RECENT_MS;
    const upper = candidate.band <= this.policy.defaultBand;
    const penalty = endpoint === view.lane && longRecently ? (upper ? LANE_PENALTY.upper : LANE_PENALTY.lower) : 0;
    const backlog = endpoint.backlogMs(view.now) / 1000;
    return backlog + OCCUPIED_WEIGHT * endpoint.occupied() + penalty + LONG_WEIGHT * endpoint.kinds.long;
  }
}
