import type { Clock, Timer } from '../../common/clock.js';
import { EngineCore } from './engine-core.js';
import type { EngineEvent, EngineGauges } from './engine-gauges.js';
import type { EngineProfile } from './profiles.js';
import type { EngineRequest } from './sequence.js';

/** Hears what becomes of one request, in this order; `ended` comes once and last. */
export interface SequenceSink {
  first?(cachedTokens: number): void;
  tokens(count: number): void;
  ended(how: 'finished' | 'aborted' | 'lost'): void;
}

/** Steps in one callback at most: behind a late timer the engine catches up, but lets others run as well. */
const CATCH_UP_STEPS = 32;
/** The engine never tries to make up for more than this, in ms: a machine that slept does not come back in a burst. */
const MAX_LAG_MS = 250;

/** An EngineCore on a clock. While it has nothing to do it owns no timer. */
export class VirtualEngine {
  readonly core: EngineCore;
  private readonly sinks = new Map<string, SequenceSink>();
  private timer: Timer | undefined;
  private stepEndsAt = 0;

  /** `timeScale` simulated seconds pass in one second of the clock. */
  constructor(
    profile: EngineProfile,
    private readonly clock: Clock,
    private readonly timeScale = 1,
  ) {
    this.core = new EngineCore(profile);
  }

  submit(request: EngineRequest, sink: SequenceSink): void {
    this.core.submit(request);
    this.sinks.set(request.id, sink);
    if (this.timer !== undefined) return;
    this.begin(this.clock.now());
    this.tell(this.core.takeEvents());
  }

  /** Frees the request at the next step boundary; its sink then hears `aborted`, unless it ends in that very step. */
  abort(id: string): void {
    if (this.sinks.has(id)) this.core.abort(id);
  }

  gauges(): EngineGauges {
    return this.core.gauges();
  }

  /** Until the step that runs is over, in the clock's ms; 0 when idle. */
  stepLeftMs(): number {
    return this.timer === undefined ? 0 : Math.max(0, this.stepEndsAt - this.clock.now());
  }

  /** Drops every request, as a process that dies does. The engine can be used again at once. */
  crash(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.tell(this.core.crash());
  }

  private begin(startsAt: number): void {
    const stepMs = this.core.beginStep();
    if (stepMs === undefined) {
      this.timer = undefined;
      return;
    }
    this.stepEndsAt = Math.max(startsAt, this.clock.now() - MAX_LAG_MS) + stepMs / this.timeScale;
    this.timer = this.clock.after(Math.max(0, this.stepEndsAt - this.clock.now()), () => this.stepOver());
  }

  private stepOver(): void {
    for (let steps = 0; steps < CATCH_UP_STEPS; steps += 1) {
      this.timer?.cancel();
      // The next step is planned before anyone hears of this one, so that what they send in answer waits its turn.
      const events = this.core.endStep();
      this.begin(this.stepEndsAt);
      this.tell([...events, ...this.core.takeEvents()]);
      if (this.timer === undefined || this.stepEndsAt > this.clock.now()) return;
    }
  }

  private tell(events: readonly EngineEvent[]): void {
    for (const event of events) {
      const sink = this.sinks.get(event.id);
      if (event.kind === 'first') sink?.first?.(event.cachedTokens);
      else if (event.kind === 'tokens') sink?.tokens(event.count);
      else {
        this.sinks.delete(event.id);
        sink?.ended(event.kind);
      }
    }
  }
}
