import type { Socket } from 'node:net';
import { Client, type buildConnector, type Dispatcher } from 'undici';
import { ConnectionPool, type Connection, type PoolLimits } from './core/connection-pool.js';
import { giveBackMemory } from '../../common/spent-bytes.js';

/** One request as undici takes it, and who gets its answer. */
export interface EngineJob extends Dispatcher.DispatchOptions {
  readonly handler: Dispatcher.DispatchHandler;
  /** Bytes whose memory is given back when they have been written and answered. */
  readonly spent?: Uint8Array | undefined;
}

/** A client's options, with its connector. */
export type ConnectionOptions = Client.Options & { readonly connect: buildConnector.connector };

export type EnginePool = ConnectionPool<EngineJob, EngineConnection>;

/** undici's own pool goes through all its clients for every request, and asks for the time at each. */
export function openEnginePool(
  origin: string,
  limits: PoolLimits,
  clock: { now(): number },
  options: ConnectionOptions,
): EnginePool {
  const pool: EnginePool = new ConnectionPool(limits, clock, () => new EngineConnection(origin, options, pool));
  return pool;
}

/** What waited for a connection when the pool ended. */
export const failJob =
  (reason: Error) =>
  ({ handler }: EngineJob): void => {
    // undici does the same: there is no controller before a request is sent.
    handler.onResponseError?.(null as unknown as Dispatcher.DispatchController, reason);
  };

/** A client of undici, which has at most one socket. It opens it for a request, and again where it has gone. */
class EngineConnection extends Client implements Connection<EngineJob> {
  busy = false;
  openedAtMs = NaN;
  #socket: Socket | undefined;
  #spent: Uint8Array | undefined;

  constructor(
    origin: string,
    { connect, ...options }: ConnectionOptions,
    readonly pool: EnginePool,
  ) {
    super(origin, {
      ...options,
      connect: (where, connected) =>
        connect(where, (...outcome) => {
          this.#socket = outcome[1] ?? undefined;
          connected(...outcome);
        }),
    });
    this.on('connect', opened).on('disconnect', shut).on('drain', freed).on('connectionError', notOpened);
  }

  carry(job: EngineJob): void {
    this.#spent = job.spent;
    // As a rule it says that it is busy now, and `drain` follows when it no longer is.
    if (this.dispatch(job, job.handler)) queueMicrotask(() => this.freeIfEmpty());
  }

  /** Its request has been answered, and another one may come. */
  free(): void {
    const spent = this.#spent;
    this.#spent = undefined;
    // An engine may answer before it has read everything: then the system still reads these bytes.
    if (spent !== undefined && this.#isQuiet()) giveBackMemory(spent);
    this.pool.freed(this);
  }

  /** There is a connection, and all that was written to it has been taken by the system. */
  #isQuiet(): boolean {
    const socket = this.#socket;
    return socket !== undefined && !socket.destroyed && socket.writableLength === 0;
  }

  letGo(): void {
    void this.destroy();
  }

  breakOff(reason: Error): Promise<void> {
    return this.destroy(reason);
  }

  /** A request that could not be begun leaves no `drain` behind, nor does every failed attempt to connect. */
  freeIfEmpty(): void {
    if (this.stats.size === 0) this.pool.freed(this);
  }
}

// undici calls them on the connection. They are the same for all: a thousand connections are a thousand streams.
function opened(this: EngineConnection): void {
  this.pool.opened(this);
}

function shut(this: EngineConnection): void {
  this.pool.shut(this);
}

function freed(this: EngineConnection): void {
  this.free();
}

function notOpened(this: EngineConnection): void {
  this.freeIfEmpty();
}
