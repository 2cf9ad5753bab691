import type { Line } from '../workers/line.js';
import type { Endpoint } from './endpoint.js';
import { ENGINES, WATCH_ENGINES, type EndpointNews, type EngineNews } from './engine-news.js';
import type { EngineRegistry } from './engine-registry.js';

/** Tells the workers of a gateway what one process has read of the engines: each is polled once, however many they are. */
export class EngineBroadcast {
  readonly #lines = new Set<Line>();

  constructor(
    private readonly registry: EngineRegistry,
    private readonly upstreams: readonly string[],
    private readonly machineOffsetMs: number,
  ) {
    registry.onEndpoints((upstream) => this.#tellAll(upstream));
    registry.onSnapshot(({ upstream }) => this.#tellAll(upstream));
  }

  /** Once it asks, a newcomer is told all there is, and from then on what is new. */
  join(line: Line): void {
    line.on(WATCH_ENGINES, () => {
      this.#lines.add(line);
      for (const upstream of this.upstreams) line.post(ENGINES, this.#newsOf(upstream));
    });
  }

  leave(line: Line): void {
    this.#lines.delete(line);
  }

  #tellAll(upstream: string): void {
    const news = this.#newsOf(upstream);
    for (const line of this.#lines) line.post(ENGINES, news);
  }

  #newsOf(upstream: string): EngineNews {
    const endpoints = this.registry.endpoints(upstream).map((endpoint) => newsOf(endpoint, this.machineOffsetMs));
    return { upstream, endpoints, totals: this.registry.totals(upstream) };
  }
}

function newsOf(endpoint: Endpoint, offsetMs: number): EndpointNews {
  const { id, origin, authority, state, degraded, staleCount, snapshot } = endpoint;
  const news = { id, origin, authority, state, degraded, staleCount };
  if (snapshot === undefined) return news;
  return { ...news, snapshot: { ...snapshot, takenAtMs: snapshot.takenAtMs + offsetMs } };
}
