import type { Clock, Timer } from '../../../common/clock.js';
import type { PublishedKey } from './usable-keys.js';

/** Why no keys came. */
export type KeyFault = 'connect' | 'timeout' | 'status' | 'media_type' | 'oversize' | 'invalid' | 'no_keys';
export type FetchedKeys = { readonly keys: readonly PublishedKey[] } | { readonly fault: KeyFault };

export interface KeySetPolicy {
  /** How often the set is fetched anew. */
  readonly refreshMs: number;
  /** How long a key that has left the set is still good. */
  readonly graceMs: number;
  /** How long keys outlive an issuer that is down. */
  readonly maxAgeMs: number;
}

/** An unknown key id makes the set be fetched at once, but no more often than this: key ids are anybody's to invent. */
export const SEEK_INTERVAL_MS = 10_000;
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

/** A key, and how long it is good. Whoever has found it asks `goodUntilMs` again before using it. */
export class HeldKey {
  constructor(
    readonly published: PublishedKey,
    /** On the clock of the set. */
    public goodUntilMs: number,
  ) {}
}

/**
 * The keys of one issuer: fetched at the start, every so often, and when a token names one that is not there. One fetch
 * runs at a time and all share it; nobody whose key is known waits for it. Keys outlive a failed fetch.
 */
export class KeySet {
  readonly #held = new Map<string, HeldKey>();
  #loadedAtMs: number | undefined;
  #failures = 0;
  #soughtAtMs = -Infinity;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #stopped = false;

  /** `fetch` never rejects; `fetched` hears how each one went. */
  constructor(
    private readonly policy: KeySetPolicy,
    private readonly fetch: () => Promise<FetchedKeys>,
    private readonly clock: Clock,
    private readonly fetched: (outcome: 'ok' | KeyFault) => void,
  ) {}

  /** Usable keys have come at least once. */
  get loaded(): boolean {
    return this.#loadedAtMs !== undefined;
  }

  /** Fetches the set; from then on it looks after itself. Settles when the first attempt is over, whatever came of it. */
  start(): Promise<void> {
    return this.#refresh();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** The key of this id, if it is there and good. */
  find(kid: string): HeldKey | undefined {
    const held = this.#held.get(kid);
    return held !== undefined && this.clock.now() < held.goodUntilMs ? held : undefined;
  }

  /** Looks for a key that is not there. `unavailable`: there might be one, but the issuer cannot be asked. */
  async seek(kid: string): Promise<HeldKey | 'unknown' | 'unavailable'> {
    await this.#demand();
    const found = this.find(kid);
    if (found === undefined) return this.#isCurrent() ? 'unknown' : 'unavailable';
    // Only what is sought in vain has to be held back: an issuer may rotate as fast as it likes.
    this.#soughtAtMs = -Infinity;
    return found;
  }

  /** What is held is what the issuer said when it was asked last, and that is not too long ago. */
  #isCurrent(): boolean {
    const { maxAgeMs } = this.policy;
    return this.#failures === 0 && this.#loadedAtMs !== undefined && this.clock.now() < this.#loadedAtMs + maxAgeMs;
  }

  async #demand(): Promise<void> {
    if (this.#running === undefined) {
      const now = this.clock.now();
      if (now < this.#soughtAtMs + SEEK_INTERVAL_MS) return;
      this.#soughtAtMs = now;
    }
    await this.#refresh();
  }

  #refresh(): Promise<void> {
    this.#running ??= this.#fetchOnce().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #fetchOnce(): Promise<void> {
    this.#timer?.cancel();
    const result = await this.fetch();
    if (this.#stopped) return;
    if ('keys' in result) this.#take(result.keys);
    else this.#failures += 1;
    this.#timer = this.clock.after(this.#pauseMs(), () => void this.#refresh());
    this.fetched('keys' in result ? 'ok' : result.fault);
  }

  #pauseMs(): number {
    const { refreshMs } = this.policy;
    if (this.#failures === 0) return refreshMs;
    return Math.min(refreshMs, LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** (this.#failures - 1));
  }

  #take(keys: readonly PublishedKey[]): void {
    const now = this.clock.now();
    this.#failures = 0;
    this.#loadedAtMs = now;
    const left = new Map(this.#held);
    for (const key of keys) {
      this.#publish(key, now + this.policy.maxAgeMs);
      left.delete(key.kid);
    }
    for (const [kid, held] of left) {
      held.goodUntilMs = Math.min(held.goodUntilMs, now + this.policy.graceMs);
      if (held.goodUntilMs <= now) this.#held.delete(kid);
    }
  }

  /** An id that names another key than before ends the old one, without grace: which of the two is meant, nobody can tell. */
  #publish(key: PublishedKey, goodUntilMs: number): void {
    const before = this.#held.get(key.kid);
    if (before?.published.pem === key.pem && before.published.algorithms.join() === key.algorithms.join()) {
      before.goodUntilMs = goodUntilMs;
      return;
    }
    if (before !== undefined) before.goodUntilMs = -Infinity;
    this.#held.set(key.kid, new HeldKey(key, goodUntilMs));
  }
}
