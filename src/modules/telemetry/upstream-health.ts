import type { Registry } from 'prom-client';
import type { Clock } from '../../common/clock.js';
import type { UpstreamOutcome } from '../../common/request-record.js';
import type { Endpoint } from '../engine-observer/endpoint.js';
import { registerLive, type LiveValue } from './tallies.js';

/** So long a request that worked speaks for an upstream whose probes fail: its page may be what is broken. */
const REQUEST_SPEAKS_MS = 30_000;

interface LastRequest {
  worked: boolean;
  atMs: number;
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
    const request = this.#last.get(upstream);
    const endpoints = this.endpoints(upstream);
    const probed = endpoints.filter(({ state }) => state === 'healthy' || state === 'late');
    const probedAtMs = Math.max(...probed.map(({ snapshot }) => snapshot?.takenAtMs ?? -Infinity));
    if (request !== undefined && request.atMs > probedAtMs && !this.#isOld(request, endpoints)) return request.worked;
    if (probed.length > 0) return true;
    return endpoints.some(({ state }) => state === 'stale') ? false : undefined;
  }

  read(): LiveValue[] {
    return this.upstreams.flatMap((upstream) => {
      const up = this.isUp(upstream);
      return up === undefined ? [] : [{ labels: { upstream }, value: up ? 1 : 0 }];
    });
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
