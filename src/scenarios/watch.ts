import type { Clock } from '../common/clock.js';
import type { Endpoint } from './endpoint.js';
import type { Exchange, ExchangeWatch } from './exchange.js';
import { BANDS } from './gate.js';
import type { Job, Outcome } from './job.js';

const LOOK_MS = 250;
/** An endpoint may stand idle this long beside a queue: a gauge that still shows a caller from elsewhere is two seconds old. */
const IDLE_MS = 2_500;
/** Larger prompts may have to wait for the one endpoint that takes such, whatever stands idle. */
const LARGE_TOKENS = 8_000;

/** What must hold in every scenario, whatever the gate. */
export interface Findings {
  /** Places held at one endpoint by all gateways at once, the most that there have been. */
  readonly mostHeld: number;
  /** Grants that put an endpoint above the band's ceiling. */
  readonly aboveCeiling: number;
  /** Seconds in which an endpoint stood idle beside someone who waited: with a prompt of less than 8k tokens, with a larger. */
  readonly idleSeconds: number;
  readonly idleBesideLargeSeconds: number;
}

/** Watches all requests of a world, and writes down how each one ended. */
export class Watch implements ExchangeWatch {
  readonly outcomes: Outcome[] = [];
  private readonly open = new Set<Exchange>();
  private readonly done = new Map<Exchange, (outcome: Outcome) => void>();
  private readonly held = new Map<string, number>();
  private readonly inBand = BANDS.map(() => 0);
  private mostHeld = 0;
  private aboveCeiling = 0;
  private idleMs = 0;
  private idleBesideLargeMs = 0;

  constructor(
    private readonly clock: Clock,
    private readonly endpoints: readonly Endpoint[],
  ) {
    this.look();
  }

  get openCount(): number {
    return this.open.size;
  }

  get heldCount(): number {
    return [...this.held.values()].reduce((sum, count) => sum + count, 0);
  }

  findings(): Findings {
    const { mostHeld, aboveCeiling, idleMs, idleBesideLargeMs } = this;
    return { mostHeld, aboveCeiling, idleSeconds: idleMs / 1_000, idleBesideLargeSeconds: idleBesideLargeMs / 1_000 };
  }

  started(exchange: Exchange, done: (outcome: Outcome) => void): void {
    this.open.add(exchange);
    this.done.set(exchange, done);
  }

  granted({ band }: Job, endpoint: string): void {
    const held = (this.held.get(endpoint) ?? 0) + 1;
    this.held.set(endpoint, held);
    this.mostHeld = Math.max(this.mostHeld, held);
    const slots = this.endpoints.find(({ id }) => id === endpoint)?.profile.slots ?? 0;
    const ceiling = Math.floor((BANDS[band]?.ceiling ?? 0) * slots);
    // A band that has starved may have one request in the whole batch.
    const starved = (this.inBand[band] ?? 0) === 0 ? slots : 0;
    if (held > Math.max(1, ceiling, starved)) this.aboveCeiling += 1;
    this.inBand[band] = (this.inBand[band] ?? 0) + 1;
  }

  released({ band }: Job, endpoint: string): void {
    this.held.set(endpoint, (this.held.get(endpoint) ?? 0) - 1);
    this.inBand[band] = (this.inBand[band] ?? 0) - 1;
  }

  ended(exchange: Exchange, outcome: Outcome): void {
    this.open.delete(exchange);
    this.outcomes.push(outcome);
    const done = this.done.get(exchange);
    this.done.delete(exchange);
    done?.(outcome);
  }

  private look(): void {
    if (this.endpoints.some(({ idleMs }) => idleMs >= IDLE_MS)) {
      if (this.waits((tokens) => tokens < LARGE_TOKENS)) this.idleMs += LOOK_MS;
      else if (this.waits((tokens) => tokens >= LARGE_TOKENS)) this.idleBesideLargeMs += LOOK_MS;
    }
    this.clock.after(LOOK_MS, () => this.look());
  }

  private waits(ofSize: (tokens: number) => boolean): boolean {
    const before = this.clock.now() - IDLE_MS;
    for (const { waits, arrivedAt, job } of this.open) {
      if (waits && arrivedAt <= before && ofSize(job.promptTokens)) return true;
    }
    return false;
  }
}
