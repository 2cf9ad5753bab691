import { Redis } from 'ioredis';
import type { Clock, Timer } from '../../common/clock.js';
import { LONGEST_WAIT_MS, Patience } from './patience.js';
import { outsideOfReplies, surviveMalformedReplies } from './redis-replies-client.js';
import type { SharedStore, StoreArgument, StoreScript } from './shared-store.js';

/** How often the store is asked whether it is well. */
const PROBE_EVERY_MS = 500;
const CONNECT_TIMEOUT_MS = 1000;
/** A connection on which nothing comes for so long, though something should, is given up. */
const SILENCE_MS = 5000;
const LONGEST_RETRY_MS = 1000;
/** Scripts that are kept while there is no connection; then the oldest is dropped. */
const KEPT = 10_000;
const CLOSE_TIMEOUT_MS = 500;
/** Left to a connection to close after its end has been said; the process lives for that, even if it is closed already. */
const DISCONNECT_MS = 100;

const OPTIONS = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_MS,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disableClientInfo: true,
  retryStrategy: (times: number): number => Math.min(LONGEST_RETRY_MS, 50 * 2 ** Math.min(times, 10)),
};

surviveMalformedReplies();

/** Asks for a write, so that a store that only reads is no store; tells its time in milliseconds. */
const PROBE: StoreScript = {
  name: 'probe',
  source: `redis.call('SET', KEYS[1], '1', 'PX', 1000)
local time = redis.call('TIME')
return time[1] * 1000 + math.floor(time[2] / 1000)`,
};
const PROBE_KEY = 'llmgw:probe';

type Call = readonly [script: StoreScript, key: string, args: readonly StoreArgument[], lost?: () => void];
type Command = (key: string, ...args: readonly StoreArgument[]) => Promise<unknown>;

/**
 * Connects to a Redis. Nothing is queued for one that is gone and nothing sent twice: a call is answered in time, or its
 * caller told at once that it is not.
 */
export class RedisClient implements SharedStore {
  up = false;
  fault: string | undefined;
  readonly #redis: Redis;
  /** A connection that listens can do nothing else. */
  #listening: Redis | undefined;
  readonly #channels = new Map<string, (message: string) => void>();
  readonly #commands = new Map<string, Command>();
  readonly #listeners: (() => void)[] = [];
  readonly #greeters: (() => void)[] = [];
  #kept: Call[] = [];
  /** The store's clock less ours. */
  #aheadMs = 0;
  #probing = false;
  #nextProbe: Timer | undefined;
  #closed = false;

  constructor(
    private readonly url: string,
    private readonly clock: Clock,
  ) {
    this.#redis = new Redis(this.url, { ...OPTIONS, socketTimeout: SILENCE_MS });
    this.#redis.on('error', (error: unknown) => this.#failed(error));
    this.#redis.on('close', () => this.#lost());
    this.#redis.on('ready', () => this.#connected());
  }

  get deadlineMs(): number {
    return Math.floor(this.clock.now() + this.#aheadMs + LONGEST_WAIT_MS);
  }

  onConnection(listener: () => void): void {
    this.#greeters.push(listener);
  }

  onTurn(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Settles once it is up, or after so long. */
  async ready(withinMs: number): Promise<void> {
    if (this.up) return;
    await new Promise<void>((resolve) => {
      const timer = this.clock.after(withinMs, resolve);
      this.onTurn(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  run(
    script: StoreScript,
    key: string,
    args: readonly StoreArgument[],
    late: (reply: unknown) => void,
  ): Promise<unknown> {
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#turn(false);
        resolve(undefined);
      };
      const patience = new Patience(this.clock, () => this.#tooLate(giveUp));
      this.#send(script, key, args).then(
        (reply) => {
          patience.answered();
          if (!patience.over) return resolve(reply);
          late(reply);
          // It does answer: it may be well again before the next time that it would be asked.
          this.#probe();
        },
        (error: unknown) => {
          patience.answered();
          this.#failed(error);
          giveUp();
        },
      );
    });
  }

  post(...call: Call): void {
    if (this.#redis.status !== 'ready') {
      this.#kept.push(call);
      if (this.#kept.length > KEPT) this.#kept.shift();
      return;
    }
    const [script, key, args, lost] = call;
    this.#send(script, key, args).catch((error: unknown) => {
      this.#failed(error);
      lost?.();
    });
  }

  publish(channel: string, message: string): void {
    if (this.#redis.status !== 'ready') return;
    this.#redis.publish(channel, message).catch((error: unknown) => this.#failed(error));
  }

  subscribe(channel: string, listener: (message: string) => void): void {
    this.#channels.set(channel, listener);
    const listening = (this.#listening ??= this.#listen());
    if (listening.status === 'ready') this.#join(listening, channel);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#listening?.disconnect();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = this.clock.after(CLOSE_TIMEOUT_MS, () => resolve(undefined));
    const quit = this.#redis.status === 'ready' ? this.#redis.quit() : Promise.resolve();
    await Promise.race([quit.catch((error: unknown) => this.#failed(error)), promise]);
    timer.cancel();
    this.#redis.disconnect();
  }

  #listen(): Redis {
    const listening = new Redis(this.url, { ...OPTIONS, autoResubscribe: false, keepAlive: SILENCE_MS });
    listening.on('error', (error: unknown) => this.#failed(error));
    listening.on('ready', () => {
      for (const channel of this.#channels.keys()) this.#join(listening, channel);
    });
    listening.on(
      'message',
      outsideOfReplies((channel: string, message: string) => this.#channels.get(channel)?.(message)),
    );
    return listening;
  }

  #join(listening: Redis, channel: string): void {
    listening.subscribe(channel).catch((error: unknown) => this.#failed(error));
  }

  #tooLate(giveUp: () => void): void {
    this.fault = 'no answer in time';
    giveUp();
  }

  #lost(): void {
    if (this.up) this.fault ??= 'the connection was lost';
    this.#turn(false);
  }

  #connected(): void {
    const kept = this.#kept;
    this.#kept = [];
    for (const call of kept) this.post(...call);
    for (const listener of this.#greeters) listener();
    this.#probe();
  }

  /** One question at a time, and none while the last one is unanswered: an answer that took too long is asked again. */
  #probe(): void {
    if (this.#probing || this.#closed || this.#redis.status !== 'ready') return;
    this.#probing = true;
    this.#nextProbe?.cancel();
    const askedAt = this.clock.now();
    const patience = new Patience(this.clock, () => this.#tooLate(() => this.#turn(false)));
    const over = (pauseMs: number): void => {
      patience.answered();
      this.#probing = false;
      this.#nextProbe = this.clock.after(pauseMs, () => this.#probe());
    };
    this.#send(PROBE, PROBE_KEY, []).then(
      (time) => {
        if (!patience.over) this.#isWell(Number(time) - askedAt);
        over(patience.over ? 0 : PROBE_EVERY_MS);
      },
      (error: unknown) => {
        this.#failed(error);
        this.#turn(false);
        over(PROBE_EVERY_MS);
      },
    );
  }

  #isWell(aheadMs: number): void {
    this.#aheadMs = aheadMs;
    this.fault = undefined;
    this.#turn(true);
  }

  #send(script: StoreScript, key: string, args: readonly StoreArgument[]): Promise<unknown> {
    let command = this.#commands.get(script.name);
    if (command === undefined) {
      this.#redis.defineCommand(script.name, { numberOfKeys: 1, lua: script.source });
      const found: unknown = Reflect.get(this.#redis, script.name);
      if (typeof found !== 'function') throw new Error(`the script ${script.name} was not defined`);
      command = found.bind(this.#redis) as Command;
      this.#commands.set(script.name, command);
    }
    return command(key, ...args);
  }

  #failed(error: unknown): void {
    this.fault = faultOf(error);
  }

  #turn(up: boolean): void {
    if (this.up === up || this.#closed) return;
    this.up = up;
    for (const listener of this.#listeners) listener();
  }
}

/** A word for the log: messages may quote addresses and passwords. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return /^[A-Z]{3,}\b/.exec(error.message)?.[0] ?? error.name;
}
