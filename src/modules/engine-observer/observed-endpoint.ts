import type { Clock } from '../../common/clock.js';
import { complaintAfter, type Complaint } from './core/complaint.js';
import type { EndpointPlace } from './core/endpoint-place.js';
import { EngineState, type EngineCondition, type EngineStatePolicy } from './core/engine-state.js';
import type { EngineSnapshot } from './core/engine-snapshot.js';
import type { PageReader, PageVerdict } from './core/page-reader.js';
import { FaultTally, type FaultCounts } from './core/scrape-fault.js';
import type { Endpoint, ObserverLog } from './endpoint.js';
import type { PollResult } from './engine-metrics-client.js';
import { EnginePoller } from './engine-poller.js';

/** Asks the engine once; never rejects. */
export interface PollingClient {
  poll(reader: PageReader, bearer: string | undefined): Promise<PollResult>;
  close(): Promise<void>;
}

export interface ObservationOptions extends EngineStatePolicy {
  readonly upstream: string;
  readonly place: EndpointPlace;
  readonly client: PollingClient;
  /** A new one for each poll. */
  readonly openPage: () => PageReader;
  /** What the upstream wants to see as Bearer. */
  readonly credential: () => Promise<string | undefined>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: ObserverLog;
  readonly onSnapshot: (endpoint: Endpoint) => void;
  /** Faults of this one poll, and whether it turned the engine stale: for the sums that outlive the endpoint. */
  readonly onCounts: (faults: Partial<FaultCounts>, turnedStale: boolean) => void;
}

/** An engine that is polled. */
export class ObservedEndpoint implements Endpoint {
  readonly #state: EngineState;
  readonly #tally = new FaultTally();
  readonly #poller: EnginePoller;
  #complaint: Complaint | undefined;
  #introduced = false;
  #stopped = false;

  constructor(private readonly options: ObservationOptions) {
    this.#state = new EngineState(options);
    this.#poller = new EnginePoller(() => this.#poll(), options);
  }

  get id(): string {
    return this.options.place.id;
  }

  get upstream(): string {
    return this.options.upstream;
  }

  get origin(): string {
    return this.options.place.origin;
  }

  get authority(): string {
    return this.options.place.authority;
  }

  get state(): EngineCondition {
    return this.#state.conditionAt(this.options.clock.now());
  }

  get snapshot(): EngineSnapshot | undefined {
    return this.#state.snapshot;
  }

  get degraded(): boolean {
    return this.#complaint !== undefined;
  }

  get complaint(): string | undefined {
    return this.#complaint?.key;
  }

  get faults(): FaultCounts {
    return this.#tally.counts;
  }

  get staleCount(): number {
    return this.#state.staleCount;
  }

  start(): void {
    this.#poller.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#poller.stop();
    await this.options.client.close();
  }

  /** A listener that throws ends no polling. */
  async #poll(): Promise<void> {
    try {
      const { client, credential, openPage } = this.options;
      const result = await client.poll(openPage(), await credential());
      if (!this.#stopped) this.#take(result);
    } catch (error) {
      this.#log('error', { stack: error instanceof Error ? error.stack : typeof error }, 'the observer failed');
    }
  }

  #take({ verdict, takenAtMs }: PollResult): void {
    const turnedStale = this.#note(verdict, takenAtMs);
    const faults = countsOf(verdict);
    this.#tally.add(faults);
    this.options.onCounts(faults, turnedStale);
    this.#tellChange(verdict);
    if (verdict.ok) this.options.onSnapshot(this);
  }

  #note(verdict: PageVerdict, takenAtMs: number): boolean {
    if (!verdict.ok) return this.#state.fail();
    this.#state.succeed(verdict.reading, takenAtMs);
    return false;
  }

  #tellChange(verdict: PageVerdict): void {
    const before = this.#complaint;
    this.#complaint = complaintAfter(verdict, this.state === 'stale', before);
    if (verdict.ok && !this.#introduced) this.#introduce(verdict);
    if (this.#complaint?.key === before?.key) return;
    if (this.#complaint === undefined) this.#log('info', {}, 'the gauges of the engine are whole again');
    else this.#log('warn', this.#complaint.fields, textOf(this.#complaint));
  }

  /** Says once which gauges there are. */
  #introduce({ reading, gaps }: Extract<PageVerdict, { ok: true }>): void {
    this.#introduced = true;
    this.#log('info', { found: Object.keys(reading.gauges), missing: gaps }, 'an engine is observed');
  }

  #log(level: 'info' | 'warn' | 'error', fields: Readonly<Record<string, unknown>>, text: string): void {
    this.options.log(level, { upstream: this.upstream, endpoint: this.id, ...fields }, text);
  }
}

function countsOf(verdict: PageVerdict): Partial<FaultCounts> {
  if (verdict.ok) return verdict.skipped;
  return { ...verdict.skipped, [verdict.fault]: 1 };
}

const textOf = ({ fields }: Complaint): string =>
  fields['stale'] === true
    ? 'the gauges of the engine are stale: they hold nothing back any more'
    : 'the gauges of the engine are degraded';
