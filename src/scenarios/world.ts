import { Endpoint } from './endpoint.js';
import { Exchange } from './exchange.js';
import type { GateMaker } from './gate.js';
import { Gateway } from './gateway.js';
import type { Job, Outcome } from './job.js';
import { Draws } from './randomness.js';
import { Watch, type Findings } from './watch.js';
import type { EngineProfile } from '../sim/core/profiles.js';
import { VirtualClock } from '../sim/core/virtual-clock.js';

const DEFAULT_RETRY_MS = 1_000;
/** After the last arrival a world runs on until everything has ended, but no longer than this. */
const DRAIN_MS = 2 * 3_600_000;
const DRAIN_STEP_MS = 10_000;

export interface WorldSettings {
  readonly gate: GateMaker;
  readonly seed: number;
  readonly gateways: number;
  readonly endpoints: number;
  readonly profile: EngineProfile;
  readonly slowMetrics: boolean;
}

/** What came out of one run. */
export interface RunResult extends Findings {
  readonly outcomes: readonly Outcome[];
  /** Length of the load, without the drain. */
  readonly lengthMs: number;
  /** Requests that never ended, and places that nobody gave back: both 0, or something is broken. */
  readonly unended: number;
  readonly unreturned: number;
  /** The most that have run, and waited, within one engine at once. */
  readonly peakRunning: number;
  readonly mostWaitingInside: number;
  readonly preemptions: number;
}

/** Clients, gateways and engines on one virtual clock. */
export class World {
  readonly clock = new VirtualClock();
  readonly endpoints: readonly Endpoint[];
  readonly gateways: readonly Gateway[];
  readonly watch: Watch;
  private readonly routing: Draws;
  private created = 0;
  private closing = false;

  constructor(private readonly settings: WorldSettings) {
    const { gateways, endpoints, profile } = settings;
    this.endpoints = Array.from({ length: endpoints }, (_, index) => new Endpoint(`e${index}`, profile, this.clock));
    this.gateways = Array.from({ length: gateways }, (_, index) => this.gatewayOf(index));
    this.watch = new Watch(this.clock, this.endpoints);
    this.routing = this.draws('routing');
  }

  /** Numbers for one purpose. */
  draws(purpose: string): Draws {
    return new Draws(this.settings.seed, purpose);
  }

  at(ms: number, callback: () => void): void {
    this.clock.after(ms - this.clock.now(), callback);
  }

  /** An endpoint comes or goes behind the name that gateways resolve. */
  list(endpoint: Endpoint, listed: boolean): void {
    endpoint.setListed(listed);
    const ids = this.endpoints.filter(({ isListed }) => isListed).map(({ id }) => id);
    for (const { gate } of this.gateways) gate.setEndpoints(ids);
  }

  /** One request through a gateway taken at random. */
  send(job: Job, draws: Draws, done: (outcome: Outcome) => void = () => undefined): void {
    const gateway = this.gateways[this.routing.below(this.gateways.length)];
    if (gateway === undefined) return;
    const exchange = new Exchange({
      id: this.nextId(),
      job,
      gateway,
      estimateFactor: Gateway.estimateFactor(draws),
      endpoints: new Map(this.endpoints.map((endpoint) => [endpoint.id, endpoint])),
      clock: this.clock,
      watch: this.watch,
    });
    this.watch.started(exchange, done);
    exchange.start();
  }

  /** A client in a loop: its next request follows the last, after the time that it was told to wait. */
  loop(nextJob: () => Job, draws: Draws): void {
    if (this.closing) return;
    this.send(nextJob(), draws, ({ how, retryAfterMs = DEFAULT_RETRY_MS }) => {
      this.clock.after(how === 'served' ? 0 : retryAfterMs, () => this.loop(nextJob, draws));
    });
  }

  /** A client in a loop that goes to an engine past every gateway. */
  loopStraight(job: Job, endpoint: Endpoint): void {
    if (this.closing) return;
    const { promptTokens, outputTokens } = job;
    const again = (delayMs: number): void => void this.clock.after(delayMs, () => this.loopStraight(job, endpoint));
    const ended = (how: string): void => again(how === 'finished' ? 0 : DEFAULT_RETRY_MS);
    const request = { id: this.nextId(), promptTokens, outputTokens };
    if (!endpoint.submit(request, { tokens: () => undefined, ended })) again(DEFAULT_RETRY_MS);
  }

  /** Arrivals at random times until the load ends. */
  stream(perSecond: number, draws: Draws, arrive: () => void): void {
    this.clock.after(draws.untilNextMs(perSecond), () => {
      if (this.closing) return;
      arrive();
      this.stream(perSecond, draws, arrive);
    });
  }

  /** Lets the load last, then waits until all of it has ended. */
  run(lengthMs: number): RunResult {
    this.clock.advance(lengthMs);
    this.closing = true;
    for (let left = DRAIN_MS; left > 0 && this.watch.openCount > 0; left -= DRAIN_STEP_MS)
      this.clock.advance(DRAIN_STEP_MS);
    return {
      ...this.watch.findings(),
      outcomes: this.watch.outcomes,
      lengthMs,
      unended: this.watch.openCount,
      unreturned: this.watch.heldCount + this.gateways.reduce((sum, { gate }) => sum + gate.inUse, 0),
      peakRunning: Math.max(...this.endpoints.map(({ peakRunning }) => peakRunning)),
      mostWaitingInside: Math.max(...this.endpoints.map(({ mostWaiting }) => mostWaiting)),
      preemptions: this.endpoints.reduce((sum, { preemptions }) => sum + preemptions, 0),
    };
  }

  private nextId(): string {
    this.created += 1;
    return `r${this.created}`;
  }

  private gatewayOf(index: number): Gateway {
    const { gate, gateways, endpoints, profile, slowMetrics } = this.settings;
    const draws = this.draws(`gateway ${index}`);
    const site = {
      clock: this.clock,
      random: () => draws.next(),
      gateway: index,
      gateways,
      endpoints,
      slots: profile.slots,
      generates: profile.serviceMs === undefined,
    };
    return new Gateway({ gate: gate(site), clock: this.clock, draws, endpoints: this.endpoints, slowMetrics });
  }
}
