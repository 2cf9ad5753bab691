import type { Clock } from '../common/clock.js';
import type { GaugeReading } from '../modules/admission/core/pool-types.js';
import type { EngineProfile } from '../sim/core/profiles.js';
import type { EngineRequest } from '../sim/core/sequence.js';
import { VirtualEngine, type SequenceSink } from '../sim/core/virtual-engine.js';

/** An engine behind an address: it can be down, and has a new boot id after that. */
export class Endpoint {
  private readonly engine: VirtualEngine;
  private boots = 1;
  private down = false;
  private idleSince: number | undefined;
  private listed = true;
  /** The most that have waited within the engine. */
  mostWaiting = 0;

  constructor(
    readonly id: string,
    readonly profile: EngineProfile,
    private readonly clock: Clock,
  ) {
    this.engine = new VirtualEngine(profile, clock);
    this.idleSince = clock.now();
  }

  /** How long it could have been used and was not, in ms. */
  get idleMs(): number {
    if (this.idleSince === undefined || this.down || !this.listed) return 0;
    return this.clock.now() - this.idleSince;
  }

  get isListed(): boolean {
    return this.listed;
  }

  /** Its readiness, as the name behind which gateways find it has it. */
  setListed(listed: boolean): void {
    this.listed = listed;
    if (this.idleSince !== undefined) this.idleSince = this.clock.now();
  }

  /** The most that have ever run at once since the start of its process. */
  get peakRunning(): number {
    return this.engine.gauges().peakRunning;
  }

  get preemptions(): number {
    return this.engine.gauges().preemptions;
  }

  /** false: the connection was refused. */
  submit(request: EngineRequest, sink: SequenceSink): boolean {
    if (this.down) return false;
    this.idleSince = undefined;
    this.engine.submit(request, {
      ...(sink.first === undefined ? {} : { first: (cached: number) => sink.first?.(cached) }),
      tokens: (count) => sink.tokens(count),
      ended: (how) => {
        this.noteIdle();
        sink.ended(how);
      },
    });
    this.mostWaiting = Math.max(this.mostWaiting, this.engine.gauges().waiting);
    return true;
  }

  abort(id: string): void {
    this.engine.abort(id);
  }

  /** The process dies, all its streams with it, and nobody listens on its port until `restart`. */
  crash(): void {
    this.down = true;
    this.engine.crash();
  }

  restart(): void {
    this.down = false;
    this.boots += 1;
    this.idleSince = this.clock.now();
  }

  /** Until a page of metrics would be answered by an engine that is deaf during a step, in ms. */
  stepLeftMs(): number {
    return this.engine.stepLeftMs();
  }

  /** What its metrics page says now; undefined: nobody answers. */
  reading(): GaugeReading | undefined {
    if (this.down) return undefined;
    const gauges = this.engine.gauges();
    return {
      running: gauges.running,
      waiting: gauges.waiting,
      kvUsage: gauges.kvUsage,
      kvCapacityTokens: this.profile.blocks * this.profile.blockTokens,
      preemptions: gauges.preemptions,
      prefixQueries: gauges.prefixQueries,
      prefixHits: gauges.prefixHits,
      bootId: `${this.id}.${this.boots}`,
      takenAtMs: this.clock.now(),
    };
  }

  private noteIdle(): void {
    const { running, waiting } = this.engine.gauges();
    if (running + waiting === 0) this.idleSince = this.clock.now();
  }
}
