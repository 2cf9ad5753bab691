import { Readable } from 'node:stream';
import type { Client, Dispatcher } from 'undici';
import { systemClock, type Clock } from '../../common/clock.js';
import type { TimeoutsConfig } from '../../common/config/timeouts.config.js';
import type { UpstreamConfig } from '../../common/config/upstreams.config.js';
import { failJob, openEnginePool, type EnginePool } from './engine-pool-client.js';
import { EngineSockets } from './engine-sockets-client.js';
import type { UpstreamCredentials } from './upstream-credentials.js';
import type { EngineCall } from '../../common/canonical/engine-call.js';

export type EngineHandler = Dispatcher.DispatchHandler;
export type EngineController = Dispatcher.DispatchController;

/** Where a call goes, and how long each step of it may take. */
export interface Target {
  readonly upstream: UpstreamConfig;
  readonly timeouts: TimeoutsConfig;
  /** Which of the upstream's addresses; undefined: its URL as it is. `authority` is what goes into `Host`. */
  readonly endpoint?: { readonly id?: string; readonly origin: string; readonly authority: string } | undefined;
}

/** Below what engines' servers keep an idle socket (uvicorn 5 s, Go 3 min): the gateway is the side that lets go. */
const IDLE_SOCKET_MS = 4000;
/** A name may point elsewhere by now: no connection is used longer than this for new requests. */
const SOCKET_LIFE_MS = 30_000;
const MAX_RESPONSE_HEAD_BYTES = 64 * 1024;
/** A body that is larger is written in pieces of this: no system takes it at once from an engine that does not read. */
const PIECE_BYTES = 512 * 1024;
const NO_FIELDS: readonly string[] = [];
const CLIENT_OPTIONS: Client.Options = {
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: IDLE_SOCKET_MS,
  keepAliveMaxTimeout: IDLE_SOCKET_MS,
  keepAliveTimeoutThreshold: 1000,
  maxHeaderSize: MAX_RESPONSE_HEAD_BYTES,
  headersTimeout: 0,
  bodyTimeout: 0,
};

/**
 * The sockets to every upstream. Nothing of undici's own timeouts, redirects, retries or proxies is left in force:
 * `dispatch` takes what the configuration says for the operation.
 */
export class EngineClient {
  readonly #pools = new Map<string, EnginePool>();
  readonly #sockets = new EngineSockets();
  /** Most requests go where the one before went, and no key has to be made to find that. */
  #lastUsed: { readonly origin: string; readonly connectMs: number; readonly pool: EnginePool } | undefined;

  constructor(
    private readonly credentials: UpstreamCredentials,
    private readonly clock: Pick<Clock, 'now'> = systemClock,
  ) {}

  /**
   * Sends a call on a pooled connection. The handler gets every event synchronously, and exactly one of its
   * `onResponseEnd` and `onResponseError`.
   */
  dispatch({ upstream, timeouts, endpoint }: Target, call: EngineCall, handler: EngineHandler): void {
    const { headers, body } = bodyOf(call);
    const own = this.#ownFields(upstream.name, endpoint);
    const { readMs, connectMs } = timeouts;
    this.#pool(upstream, endpoint?.origin ?? upstream.url, connectMs).carry({
      path: call.path,
      method: call.method,
      // undici only reads them.
      headers: own === NO_FIELDS ? (headers as string[]) : [...headers, ...own],
      body,
      headersTimeout: readMs,
      bodyTimeout: readMs,
      handler,
      spent: call.body,
    });
  }

  /** Ends whatever runs, for that reason, and closes every socket. */
  async end(reason: Error): Promise<void> {
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    this.#sockets.end();
    this.#lastUsed = undefined;
    await Promise.all(pools.map((pool) => pool.end(reason, failJob(reason))));
  }

  #ownFields(upstream: string, endpoint: Target['endpoint']): readonly string[] {
    const authorization = this.credentials.authorization(upstream);
    const own = authorization === undefined ? NO_FIELDS : ['authorization', authorization];
    if (endpoint === undefined || endpoint.origin.endsWith(endpoint.authority)) return own;
    return ['host', endpoint.authority, ...own];
  }

  #pool(upstream: UpstreamConfig, origin: string, connectMs: number): EnginePool {
    const used = this.#lastUsed;
    if (used?.origin === origin && used.connectMs === connectMs) return used.pool;
    const key = `${origin} ${connectMs}`;
    let pool = this.#pools.get(key);
    if (pool === undefined) {
      this.#closeUnused();
      pool = openEnginePool(origin, { connections: upstream.connections, lifeMs: SOCKET_LIFE_MS }, this.clock, {
        ...CLIENT_OPTIONS,
        connect: this.#sockets.connector(connectMs),
      });
      this.#pools.set(key, pool);
    }
    this.#lastUsed = { origin, connectMs, pool };
    return pool;
  }

  /** Addresses come and go with the pods behind a name: their pools must not stay. */
  #closeUnused(): void {
    for (const [key, pool] of this.#pools) if (pool.unused) this.#pools.delete(key);
    this.#lastUsed = undefined;
  }
}

/**
 * undici takes a request for sent once it has handed its body to the socket. In pieces it knows better, and drops the
 * connection of an engine that answers before it has read everything, instead of using it again.
 */
function bodyOf({ headers, body }: EngineCall): { headers: readonly string[]; body: Uint8Array | Readable | null } {
  if (body === undefined || body.length <= PIECE_BYTES) return { headers, body: body ?? null };
  return { headers: [...headers, 'content-length', String(body.length)], body: Readable.from(inPieces(body)) };
}

function* inPieces(body: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) yield body.subarray(at, at + PIECE_BYTES);
}
