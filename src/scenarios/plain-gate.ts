import type { Clock } from '../common/clock.js';
import type {
  GaugeReading,
  Lease,
  PoolListener,
  PoolRequest,
  Refusal,
  Ticket,
} from '../modules/admission/core/pool-types.js';
import { BANDS, type Gate } from './gate.js';

const RETRY_AFTER_SECONDS = 5;

/** What a plain gate knows of an endpoint. */
export interface EndpointView {
  readonly id: string;
  /** Requests that this gateway has there. */
  own: number;
  reading: GaugeReading | undefined;
  grantsSinceReading: number;
  releasesSinceReading: number;
}

/** How a gate without a model of the engine decides. */
export interface GateRule {
  /** Bands from high to low, and tenants in turn within each; otherwise one line in order of arrival. */
  readonly inBands: boolean;
  /** The longest wait, and what it ends with. */
  readonly patienceMs: number;
  readonly refusal: Refusal;
  /** Where a request may go now; undefined: it has to wait. */
  pick(request: PoolRequest, endpoints: readonly EndpointView[]): EndpointView | undefined;
}

interface Waiting {
  readonly request: PoolRequest;
  readonly listener: PoolListener;
  readonly since: number;
  waits: boolean;
}

/** A gate as others build it: a line, and a question that is put to its head. */
export class PlainGate implements Gate {
  inUse = 0;
  private endpoints: EndpointView[] = [];
  /** For each band its tenants, in the order of their turns; a tenant's requests in order of arrival. */
  private readonly lines = BANDS.map(() => new Map<string, Waiting[]>());

  constructor(
    private readonly rule: GateRule,
    private readonly clock: Clock,
  ) {}

  setEndpoints(ids: readonly string[]): void {
    const fresh = (id: string): EndpointView => ({
      id,
      own: 0,
      reading: undefined,
      grantsSinceReading: 0,
      releasesSinceReading: 0,
    });
    this.endpoints = ids.map((id) => this.endpoints.find((endpoint) => endpoint.id === id) ?? fresh(id));
    this.pump();
  }

  read(id: string, reading: GaugeReading | undefined): void {
    const endpoint = this.endpoints.find((one) => one.id === id);
    if (endpoint === undefined) return;
    endpoint.reading = reading;
    endpoint.grantsSinceReading = 0;
    endpoint.releasesSinceReading = 0;
    this.pump();
  }

  enqueue(request: PoolRequest, listener: PoolListener): Ticket {
    const waiting: Waiting = { request, listener, since: this.clock.now(), waits: true };
    const [band, tenant] = this.placeOf(request);
    const line = this.lines[band]?.get(tenant) ?? [];
    line.push(waiting);
    this.lines[band]?.set(tenant, line);
    this.pump();
    if (waiting.waits && this.rule.patienceMs < Infinity) {
      this.clock.after(this.rule.patienceMs, () => {
        if (this.forget(waiting)) listener.refused(this.rule.refusal, RETRY_AFTER_SECONDS);
      });
    }
    return { cancel: () => void this.forget(waiting) };
  }

  depth(band: number): number {
    return [...(this.lines[band]?.values() ?? [])].reduce((sum, line) => sum + line.length, 0);
  }

  private placeOf({ band, tenant }: PoolRequest): readonly [number, string] {
    return this.rule.inBands ? [band, tenant] : [0, ''];
  }

  private forget(waiting: Waiting): boolean {
    if (!waiting.waits) return false;
    waiting.waits = false;
    const [band, tenant] = this.placeOf(waiting.request);
    const line = this.lines[band]?.get(tenant) ?? [];
    line.splice(line.indexOf(waiting), 1);
    if (line.length === 0) this.lines[band]?.delete(tenant);
    return true;
  }

  private pump(): void {
    while (this.grantOne());
  }

  private grantOne(): boolean {
    for (const line of this.lines) {
      const head = line.values().next().value?.[0];
      const endpoint = head && this.rule.pick(head.request, this.endpoints);
      if (head === undefined || endpoint === undefined) continue;
      this.grant(head, endpoint);
      return true;
    }
    return false;
  }

  private grant(waiting: Waiting, endpoint: EndpointView): void {
    this.forget(waiting);
    this.passTurn(waiting.request);
    this.inUse += 1;
    endpoint.own += 1;
    endpoint.grantsSinceReading += 1;
    waiting.listener.granted(this.leaseOf(waiting, endpoint));
  }

  /** The tenant goes to the end of its band's round. */
  private passTurn(request: PoolRequest): void {
    const [band, tenant] = this.placeOf(request);
    const line = this.lines[band]?.get(tenant);
    if (line === undefined) return;
    this.lines[band]?.delete(tenant);
    this.lines[band]?.set(tenant, line);
  }

  private leaseOf({ since }: Waiting, endpoint: EndpointView): Lease {
    let held = true;
    const release = (): void => {
      if (!held) return;
      held = false;
      this.inUse -= 1;
      endpoint.own -= 1;
      endpoint.releasesSinceReading += 1;
      this.pump();
    };
    return {
      endpoint: endpoint.id,
      waitedMs: this.clock.now() - since,
      firstToken: () => undefined,
      settle: () => undefined,
      release,
      refused: () => {
        release();
        return undefined;
      },
    };
  }
}
