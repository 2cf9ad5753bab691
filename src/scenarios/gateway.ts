import type { Clock } from '../common/clock.js';
import type { PoolRequest } from '../modules/admission/core/pool-types.js';
import type { Endpoint } from './endpoint.js';
import type { Gate } from './gate.js';
import type { Job } from './job.js';
import type { Draws } from './randomness.js';

const POLL_MS = 2_000;
const POLL_TIMEOUT_MS = 1_000;
const STALE_AFTER = 3;
const FIRST_OUTPUT_GUESS = 300;
const OUTPUT_MARGIN = 1.5;
const LEARN = 0.1;
/** Standard deviation of the logarithm of estimated over real prompt tokens. */
const ESTIMATE_SPREAD = 0.2;

export interface GatewaySettings {
  readonly gate: Gate;
  readonly clock: Clock;
  readonly draws: Draws;
  /** Behind the address, whether they answer or not. */
  readonly endpoints: readonly Endpoint[];
  /** An engine answers for its metrics only between two steps. */
  readonly slowMetrics: boolean;
}

/** One gateway: its gate, the polls that feed it, and what it believes of a request before it runs. */
export class Gateway {
  readonly gate: Gate;
  /** Whether polls reach the engines. */
  metricsReachable = true;
  private readonly outputs = new Map<string, number>();

  constructor(private readonly settings: GatewaySettings) {
    this.gate = settings.gate;
    this.gate.setEndpoints(settings.endpoints.map(({ id }) => id));
    for (const endpoint of settings.endpoints) this.pollEvery(endpoint);
  }

  /** What the gate is told. `factor`: how far the estimate of the prompt is off. */
  requestOf(job: Job, factor: number): PoolRequest {
    const expected = OUTPUT_MARGIN * (this.outputs.get(job.tenant) ?? FIRST_OUTPUT_GUESS);
    return {
      tenant: job.tenant,
      band: job.band,
      places: job.choices ?? 1,
      promptTokens: Math.max(1, Math.round(job.promptTokens * factor)),
      cachedTokens: 0,
      outputTokens: Math.ceil(expected),
      stretchable: true,
    };
  }

  /** Remembers how long the answers of a tenant are. */
  learn(job: Job): void {
    const old = this.outputs.get(job.tenant) ?? FIRST_OUTPUT_GUESS;
    this.outputs.set(job.tenant, old + LEARN * (job.outputTokens - old));
  }

  /** How far off the estimate of a request will be. */
  static estimateFactor(draws: Draws): number {
    return draws.factor(ESTIMATE_SPREAD);
  }

  private pollEvery(endpoint: Endpoint): void {
    const { clock, draws } = this.settings;
    let failed = 0;
    const take = (): void => {
      const reading = this.metricsReachable ? endpoint.reading() : undefined;
      failed = reading === undefined ? failed + 1 : 0;
      if (reading !== undefined || failed === STALE_AFTER) this.gate.read(endpoint.id, reading);
    };
    const poll = (): void => {
      const delayMs = this.settings.slowMetrics ? endpoint.stepLeftMs() : 0;
      if (delayMs === 0) take();
      else if (delayMs <= POLL_TIMEOUT_MS) clock.after(delayMs, take);
      else if ((failed += 1) === STALE_AFTER) this.gate.read(endpoint.id, undefined);
      clock.after(POLL_MS, poll);
    };
    clock.after(draws.next() * POLL_MS, poll);
  }
}
