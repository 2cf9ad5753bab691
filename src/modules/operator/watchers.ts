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
  /** What a newcomer is told first. Neither rejects. */
  greeting(): Promise<string>;
  /** What all are told once a second; made once for all of them. */
  news(): Promise<string>;
}

/** The browsers that look at the operator's page. While there is none, nothing runs. */
export class Watchers {
  /** Those that have been greeted, and those that have not yet. */
  readonly #responses = new Set<ServerResponse>();
  readonly #arriving = new Set<ServerResponse>();
  #timer: Timer | undefined;
  #closed = false;

  constructor(
    private readonly events: WatchedEvents,
    private readonly clock: Clock,
    private readonly mostUnsentBytes = MOST_UNSENT_BYTES,
  ) {}

  get count(): number {
    return this.#responses.size + this.#arriving.size;
  }

  get full(): boolean {
    return this.#closed || this.count >= MOST_WATCHERS;
  }

  /** Takes over a response whose head has not been written. */
  add(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
    // Kept alive behind its end, the connection would hold up the end of the listener.
    const own = { 'content-type': 'text/event-stream; charset=utf-8', connection: 'close' };
    response.writeHead(200, { ...headers, ...own });
    response.once('close', () => this.#remove(response));
    response.write(`retry: ${RETRY_MS}\n\n`);
    this.#arriving.add(response);
    void this.#greet(response);
  }

  /** Ends all of them; nobody is taken any more. */
  close(): void {
    this.#closed = true;
    for (const response of [...this.#responses, ...this.#arriving]) response.end();
  }

  async #greet(response: ServerResponse): Promise<void> {
    const greeting = await this.events.greeting();
    // It may have left meanwhile.
    if (!this.#arriving.delete(response) || this.#closed) return;
    this.#responses.add(response);
    response.write(greeting);
    if (this.#timer === undefined) this.#waitForNext();
  }

  async #tick(): Promise<void> {
    const news = Buffer.from(await this.events.news());
    if (this.#closed) return;
    for (const response of this.#responses) {
      if (response.writableLength > this.mostUnsentBytes) response.destroy();
      else response.write(news);
    }
    this.#waitForNext();
  }

  #waitForNext(): void {
    this.#timer?.cancel();
    this.#timer = this.#responses.size > 0 ? this.clock.after(EVERY_MS, () => void this.#tick()) : undefined;
  }

  #remove(response: ServerResponse): void {
    this.#arriving.delete(response);
    if (this.#responses.delete(response) && this.#responses.size === 0) this.#waitForNext();
  }
}
