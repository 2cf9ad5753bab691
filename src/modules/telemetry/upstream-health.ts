import type { Registry } from 'prom-client';
import type { Clock } from '../../common/clock.js';
import type { UpstreamOutcome } from '../../common/request-record.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { machineOffsetMs } from '../workers/machine-time.js';
import { registerLive, type LiveValue } from './tallies.js';

/** So long a request that worked speaks for an upstream whose probes fail: its page may be what is broken. */
const REQUEST_SPEAKS_MS = 30_000;

interface LastRequest {
  worked: boolean;
  atMs: number;
}

/** What is known of an upstream, and since when. */
interface Verdict {
  readonly up: boolean;
  /** undefined: probes fail, and no request says otherwise; one that does so elsewhere is right. */
  readonly atMs: number | undefined;
}

/** Whether the upstreams work, as their last probe or request tells. */
export class UpstreamHealth {
  readonly #last = new Map<string, LastRequest>();

  constructor(
    private readonly upstreams: readonly string[],
    private readonly endpoints: (upstream: string) => readonly Endpoint[],
    private readonly clock: Clock,
  ) {}

  /** A client that left says nothing about the upstream. */
  note(upstream: string, outcome: UpstreamOutcome): void {
    if (outcome === 'cancelled') return;
    const worked = outcome === 'ok' || outcome === 'client_error';
    const last = this.#last.get(upstream);
    const atMs = this.clock.now();
    if (last === undefined) this.#last.set(upstream, { worked, atMs });
    else {
      last.worked = worked;
      last.atMs = atMs;
    }
  }

  /** undefined: nobody has asked it anything yet. */
  isUp(upstream: string): boolean | undefined {
    return this.#verdict(upstream)?.up;
  }

  read(): LiveValue[] {
    return this.upstreams.flatMap((upstream) => {
      const verdict = this.#verdict(upstream);
      if (verdict === undefined) return [];
      const atMs = verdict.atMs === undefined ? 0 : verdict.atMs + machineOffsetMs;
      return [{ labels: { upstream }, value: verdict.up ? 1 : 0, atMs }];
    });
  }

  #verdict(upstream: string): Verdict | undefined {
    const request = this.#last.get(upstream);
    const endpoints = this.endpoints(upstream);
    const probed = endpoints.filter(({ state }) => state === 'healthy' || state === 'late');
    const probedAtMs = Math.max(...probed.map(({ snapshot }) => snapshot?.takenAtMs ?? -Infinity));
    if (request !== undefined && request.atMs > probedAtMs && !this.#isOld(request, endpoints))
      return { up: request.worked, atMs: request.atMs };
    if (probed.length > 0) return { up: true, atMs: probedAtMs };
    return endpoints.some(({ state }) => state === 'stale') ? { up: false, atMs: undefined } : undefined;
  }

  /** Newer probes have failed. */
  #isOld({ atMs }: LastRequest, endpoints: readonly Endpoint[]): boolean {
    const stale = endpoints.length > 0 && endpoints.every(({ state }) => state === 'stale');
    return stale && this.clock.now() - atMs > REQUEST_SPEAKS_MS;
  }
}

export function showHealth(registry: Registry, health: UpstreamHealth): void {
  registerLive(registry, 'upstream_up', () => health.read());
}
