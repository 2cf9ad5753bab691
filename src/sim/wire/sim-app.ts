import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { SimExchange } from './exchange.js';
import type { Faults } from './faults.js';
import type { SeenRequest } from './seen-request.js';

/** What every kind of simulated server can be started with. */
export interface ListenOptions {
  /** Absent: the loopback. */
  readonly host?: string | undefined;
  /** Absent or 0: one that is free. */
  readonly port?: number | undefined;
  /** Opens `POST /__sim/faults` to whoever can reach the port; absent: closed, and faults are set from the code alone. */
  readonly faultsEndpoint?: boolean | undefined;
}

export interface SimStats {
  readonly requests: number;
  readonly finished: number;
  /** Answers that a client did not wait for. */
  readonly aborted: number;
  /** Answers that a fault ended. */
  readonly cut: number;
  /** Requests for `/metrics`, which are in none of the counts above. */
  readonly polls: number;
  readonly running: number;
  readonly waiting: number;
  /** The most requests that truly ran at one time. */
  readonly peakRunning: number;
}

/** A simulated server that is up. */
export interface SimServer {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  /** The latest requests, oldest first; those for `/metrics` and `/__sim/` are left out. */
  readonly requests: readonly SeenRequest[];
  stats(): SimStats;
  /** Replaces what goes wrong from the next request on. */
  setFaults(faults: Faults): void;
  /** Drops every connection and request and starts anew, as a process that dies and is restarted. */
  crash(): void;
  /** Drops every connection and refuses new ones until `accept`. */
  refuse(): Promise<void>;
  accept(): Promise<void>;
  /** Settles when all sockets and timers are gone. May be called twice. */
  close(): Promise<void>;
}

/** What makes a server one of its kind. */
export interface SimApp {
  handle(exchange: SimExchange): void;
  /** An error in the engine's own words, for the fault that asks for a status. */
  fail(exchange: SimExchange, status: number): void;
  gauges(): Pick<SimStats, 'running' | 'waiting' | 'peakRunning'>;
  crash(): void;
  /** How long the step that runs still takes, in ms. */
  stepLeftMs?(): number;
  upgrade?(req: IncomingMessage, socket: Duplex, head: Buffer): void;
}
