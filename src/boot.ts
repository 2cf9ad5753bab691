import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Logger } from 'pino';
import type { LoadedConfig } from './modules/config/load-config.js';
import { stackOf } from './modules/telemetry/telemetry.js';

/** Where a gateway listens, as host:port. */
export interface Addresses {
  readonly listen: string;
  readonly management: string;
}
export type Listening = (at: Addresses) => void;

/** Tells the operator what has been started, once. */
export function announce(log: Logger, { config, warnings }: LoadedConfig, at: Addresses): void {
  for (const warning of warnings) log.warn(warning);
  const { enabled, issuers } = config.auth;
  if (enabled) log.info({ auth: true, issuers: issuers.map(({ issuer }) => issuer) }, 'auth is on');
  else log.warn({ auth: false }, 'auth is off: whoever reaches this gateway may use every engine');
  const limits = config.upstreams.map(({ name, engine, url, connections, slots, observe }) => ({
    upstream: name,
    engine,
    url,
    connections,
    slots: slots.limit,
    per_endpoint: slots.perEndpoint,
    max_inflight: observe?.maxInflight,
    kv_ceiling: observe?.kvCeiling,
  }));
  const { workers } = config.server;
  log.info({ ...at, ...(workers > 1 && { workers }), limits }, 'listening');
}

/**
 * Collects what a start has left behind, a fifth of the heap, and gives the pages back. V8 would come to it by and by, and
 * would not look again before the heap is more than twice what it found. Takes a tenth of a second.
 */
export function compactHeap(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

/** What the system or the person at the terminal says. */
export function endOnSignals(end: (reason: string) => void): void {
  process.on('SIGTERM', () => end('SIGTERM'));
  process.on('SIGINT', () => end('SIGINT'));
}

/** What nobody has caught: nothing is certain any more, so the process ends. */
export function endOnFaults(log: Logger, end: (kind: string) => void): void {
  const fatal = (kind: string) => (error: unknown) => {
    log.fatal({ stack: stackOf(error) }, kind);
    end(kind);
  };
  process.on('uncaughtException', fatal('uncaught exception'));
  process.on('unhandledRejection', fatal('unhandled rejection'));
}
