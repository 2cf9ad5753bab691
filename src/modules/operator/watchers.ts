import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../common/clock.js';

export const MOST_WATCHERS = 32;
const EVERY_MS = 1000;
/** What may wait for one watcher: a few seconds' worth. One that takes less is cut, and comes back if it lives. */
const MOST_UNSENT_BYTES = 1024 * 1024;
/** How long a browser waits before it comes back. */
const RETRY_MS = 2000;

/** A stream of events, as the watchers see it. */
export interface WatchedEvents {
  /** What a newcomer is told first. */
  greeting(): string;
  /** What all are told once a second; made once for all of them. */
  news(): string;
}

/** The browsers that look at the operator's page. While there is none, nothing runs. */
export class Watchers {
  readonly #responses = new Set<ServerResponse>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(
    private readonly events: WatchedEvents,
    private readonly clock: Clock,
    private readonly mostUnsentBytes = MOST_UNSENT_BYTES,
  ) {}

  get count(): number {
    return this.#responses.size;
  }

  get full(): boolean {
    return this.#closed || this.#responses.size >= MOST_WATCHERS;
  }

  /** Takes over a response whose head has not been written. */
  add(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
    // Kept alive behind its end, the connection would hold up the end of the listener.
    const own = { 'content-type': 'text/event-stream; charset=utf-8', connection: 'close' };
    response.writeHead(200, { ...headers, ...own });
    this.#responses.add(response);
    response.once('close', () => this.#remove(response));
    response.write(`retry: ${RETRY_MS}\n\n${this.events.greeting()}${this.events.news()}`);
    this.#timer ??= this.clock.after(EVERY_MS, () => this.#tick());
  }

  /** Ends all of them; nobody is taken any more. */
  close(): void {
    this.#closed = true;
    for (const response of this.#responses) response.end();
  }

  #tick(): void {
    this.#timer = undefined;
    const news = Buffer.from(this.events.news());
    for (const response of this.#responses) {
      if (response.writableLength > this.mostUnsentBytes) response.destroy();
      else response.write(news);
    }
    if (this.#responses.size > 0) this.#timer = this.clock.after(EVERY_MS, () => this.#tick());
  }

  #remove(response: ServerResponse): void {
    this.#responses.delete(response);
    if (this.#responses.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
