import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { ContinueFilter } from './core/continue-filter.js';
import { readAtOnce } from './core/read-at-once.js';

/** TCP keep-alive after this silence; Linux, as Node sets it, then gives up after ten probes a second apart. */
const KEEP_ALIVE_DELAY_MS = 30_000;
/** undici tells here which socket it is about to write a request to. */
const REQUEST_GOES_OUT = 'undici:client:sendHeaders';

/** Opens the sockets to engines. What is read from one has no `100 Continue` in it. */
export class EngineSockets {
  readonly #filters = new WeakMap<Socket, ContinueFilter>();

  constructor() {
    subscribe(REQUEST_GOES_OUT, this.#requestGoesOut);
  }

  /** How a pool connects, within that time. */
  connector(connectMs: number): buildConnector.connector {
    const connect = buildConnector({
      allowH2: false,
      timeout: connectMs,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
    });
    // undici gives up a connection that nobody waits for any more by what the connector returns.
    return (options, connected) =>
      connect(options, (...outcome) => {
        if (outcome[0] === null) this.#filter(outcome[1]);
        connected(...outcome);
      });
  }

  /** No more requests will be sent. */
  end(): void {
    unsubscribe(REQUEST_GOES_OUT, this.#requestGoesOut);
  }

  /** undici reads its sockets by `read`, everything that is there at once. */
  #filter(socket: Socket): void {
    const filter = new ContinueFilter();
    this.#filters.set(socket, filter);
    readAtOnce(socket, filter);
  }

  readonly #requestGoesOut = (message: unknown): void => {
    // Of every client in the process: the others' sockets have no filter.
    this.#filters.get((message as { readonly socket: Socket }).socket)?.expectAnswer();
  };
}
